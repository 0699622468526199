package uplink

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/reconcile"
)

// heldPerHour is the memory of an hour of a series, besides its readings. The unit is the memory of one
// reading: see Options.Held.
const heldPerHour = 32

// seriesName is a series of the client's tenant.
type seriesName struct{ stream, device string }

// seriesHour is an hour of a series.
type seriesHour struct {
	seriesName

	start int64 // in seconds since 1970
}

func hourOf(r *varve.Reading) seriesHour {
	return seriesHour{seriesName{r.Stream, r.Device}, r.Time.Truncate(time.Hour).Unix()}
}

// part has the hours that are compared together: a share of all series, and a share of their hours.
type part struct{ series, hours share }

// share selects one of count equal shares, by hash.
type share struct{ index, count uint64 }

var everything = part{series: share{0, 1}, hours: share{0, 1}}

var seed = maphash.MakeSeed()

func (p part) has(h seriesHour) bool {
	return maphash.Comparable(seed, h.seriesName)%p.series.count == p.series.index && maphash.Comparable(seed, h.start)%p.hours.count == p.hours.index
}

func (s share) halves() (a, b share) {
	return share{s.index, 2 * s.count}, share{s.index + s.count, 2 * s.count}
}

// hours has hours of one series, and the digests of their kept readings.
type hours struct {
	set      reconcile.Set
	readings map[int64]int // number of readings, by the start of the hour
}

// holdings has the hours of a part that are compared together. A due segment is a kept segment that is
// old enough to be compared.
type holdings struct {
	part     part
	excluded map[seriesHour]bool // hours that are not compared, because they have too many readings
	series   map[seriesName]*hours
	due      int64 // number of readings in due segments
	size     int   // number of readings, plus heldPerHour for each hour
	limit    int   // see Options.Held
}

func (h *holdings) isFull() bool { return h.size > h.limit }

// addDue adds a reading in a due segment, unless its hour is outside the part or excluded.
func (h *holdings) addDue(r *varve.Reading) {
	at := hourOf(r)
	if !h.part.has(at) || h.excluded[at] {
		return
	}
	if h.series[at.seriesName] == nil {
		h.series[seriesName{strings.Clone(r.Stream), strings.Clone(r.Device)}] = &hours{readings: map[int64]int{}}
	}
	if h.series[at.seriesName].readings[at.start] == 0 {
		h.size += heldPerHour
	}
	h.add(r, at)
	h.due++
}

// addOther adds a reading in another kept segment, if the due segments have readings of its hour.
func (h *holdings) addOther(r *varve.Reading) {
	if at := hourOf(r); h.has(at) {
		h.add(r, at)
	}
}

func (h *holdings) add(r *varve.Reading, at seriesHour) {
	of := h.series[at.seriesName]
	of.set.Add(r)
	of.readings[at.start]++
	h.size++
}

func (h *holdings) has(at seriesHour) bool {
	of := h.series[at.seriesName]
	return of != nil && of.readings[at.start] > 0
}

// retain removes all digests of a series, and the hours that do not begin at one of the times in "starts".
func (h *holdings) retain(name seriesName, starts []int64) {
	of := h.series[name]
	of.set = reconcile.Set{}
	maps.DeleteFunc(of.readings, func(start int64, _ int) bool { return !slices.Contains(starts, start) })
	if len(of.readings) == 0 {
		delete(h.series, name)
	}
}

// divide returns the halves of a part with too many readings. If an hour has more than half of the limit,
// divide excludes the hour, which may not fit even alone, and returns the part itself.
func (h *holdings) divide() []part {
	for name, of := range h.series {
		for start, n := range of.readings {
			if n > h.limit/2 {
				h.excluded[seriesHour{name, start}] = true
				return []part{h.part}
			}
		}
	}
	if len(h.series) > 1 { // a series needs only one request if its hours stay together
		a, b := h.part.series.halves()
		return []part{{a, h.part.hours}, {b, h.part.hours}}
	}
	a, b := h.part.hours.halves()
	return []part{{h.part.series, a}, {h.part.series, b}}
}

// rowReader reads records. It reuses its memory.
type rowReader struct {
	memory wire.Memory
	batch  wire.Batch
}

// each calls the function "use" with each valid reading of a record and its line, until the function
// returns false. It leaves out readings that every server would reject.
func (p *rowReader) each(r *outbox.Record, use func(line []byte, reading *varve.Reading) bool) (more bool, err error) {
	var rows lines
	rows.add(r.Lines, 0)
	in, err := wire.NewReader(&p.memory, wire.NDJSON, bytes.NewReader(r.Lines), wire.Defaults{Tenant: varve.DefaultTenant, Stream: r.Stream}, wire.Columns{})
	if err != nil {
		return false, err
	}
	for {
		p.batch.Reset()
		err := in.Read(&p.batch)
		isLast := errors.Is(err, io.EOF)
		if err != nil && !isLast {
			return false, err
		}
		for i := range p.batch.Readings {
			reading, line := &p.batch.Readings[i], p.batch.Lines[i]-1
			if p.batch.Verdicts[i].Outcome != 0 || line >= rows.len() || reading.NormalizeNew().Outcome == varve.Rejected {
				continue
			}
			if !use(rows.row(line), reading) {
				return false, nil
			}
		}
		if isLast {
			return true, nil
		}
	}
}

// bundle has readings to be resent, by stream.
type bundle struct {
	streams         []string
	lines           map[string]*lines
	readings, bytes int
}

// add adds a copy of a line.
func (b *bundle) add(stream string, line []byte) {
	if b.lines == nil {
		b.lines = map[string]*lines{}
	}
	of := b.lines[stream]
	if of == nil {
		of = &lines{}
		stream = strings.Clone(stream)
		b.streams, b.lines[stream] = append(b.streams, stream), of
	}
	of.add(bytes.Clone(line), 0)
	b.readings++
	b.bytes += len(line)
}
