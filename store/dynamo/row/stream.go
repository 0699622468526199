package row

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// StreamsKey is the hash key of all stream rows of a table. No series has this key, because
// tenants begin with a letter or a digit.
const StreamsKey = "#streams"

// Names of the attributes of a stream row.
const (
	AttrVersion = "_version" // increased by every change of the stream row
	attrStream  = "_stream"  // the name of the stream, as tenant/stream
	attrWindow  = "_window"  // the row window in milliseconds
	attrShards  = "_shards"  // number of shards by device, if above 1
)

// Stream is the layout of a stream in a table, as a stream row of the table records it. With it,
// readings can be found without the registry.
type Stream struct {
	Tenant, Stream string
	Window         time.Duration
	Shards         map[string]int
	Version        int64 // number of changes of the row; 0 means that the row is missing
}

// streamTS returns the sort key of a stream row. It is 120 bits of a hash, so it is practically
// impossible that two streams have the same key.
func streamTS(tenant, stream string) string {
	sum := sha256.Sum256([]byte(tenant + "/" + stream))
	return new(big.Int).SetBytes(sum[:15]).String()
}

// Name returns tenant/stream.
func (s *Stream) Name() string { return s.Tenant + "/" + s.Stream }

// StreamLayout returns the layout as a store.StreamLayout.
func (s *Stream) StreamLayout() store.StreamLayout {
	return store.StreamLayout{Tenant: s.Tenant, Stream: s.Stream, Window: s.Window, Shards: s.Shards}
}

// Item returns the attributes of the row.
func (s *Stream) Item() attr.Item {
	it := attr.Item{AttrSeries: &attr.Str{Value: StreamsKey}, AttrTS: &attr.Num{Value: streamTS(s.Tenant, s.Stream)}}
	it[attrStream] = &attr.Str{Value: s.Name()}
	it[attrWindow] = &attr.Num{Value: strconv.FormatInt(s.Window.Milliseconds(), 10)}
	it[AttrVersion] = &attr.Num{Value: strconv.FormatInt(s.Version, 10)}
	if len(s.Shards) > 0 {
		shards := attr.Item{}
		for device, n := range s.Shards {
			shards[device] = &attr.Num{Value: strconv.Itoa(n)}
		}
		it[attrShards] = &attr.Map{Value: shards}
	}
	return it
}

// ParseStream returns the layout in a stream row.
func ParseStream(it attr.Item) (s Stream, err error) {
	name, _ := it[attrStream].(*attr.Str)
	ts, _ := it[AttrTS].(*attr.Num)
	if name == nil || ts == nil {
		return s, fmt.Errorf("a row of %s has no %s", StreamsKey, attrStream)
	}
	s.Tenant, s.Stream, _ = strings.Cut(name.Value, "/")
	if v := (varve.Series{Tenant: s.Tenant, Stream: s.Stream, Device: "d"}); v.Validate().Outcome == varve.Rejected || ts.Value != streamTS(s.Tenant, s.Stream) {
		return s, fmt.Errorf("row %s %s does not belong to stream %.80q", StreamsKey, ts.Value, name.Value)
	}
	bad := func(name string) error {
		return fmt.Errorf("row %s %s (%s): its %s is not valid", StreamsKey, ts.Value, s.Name(), name)
	}
	ms, exists, err := attr.WholeNumber(it, attrWindow)
	s.Window = time.Duration(ms) * time.Millisecond
	if !exists || err != nil || ms <= 0 || (store.Layout{RowWindow: s.Window}).Validate() != nil {
		return s, bad(attrWindow)
	}
	if s.Version, exists, err = attr.WholeNumber(it, AttrVersion); !exists || err != nil || s.Version < 1 {
		return s, bad(AttrVersion)
	}
	if s.Shards, err = parseShards(it); err != nil {
		return s, bad(attrShards)
	}
	return s, nil
}

func parseShards(it attr.Item) (map[string]int, error) {
	av, exists := it[attrShards]
	if !exists {
		return nil, nil
	}
	m, ok := av.(*attr.Map)
	if !ok {
		return nil, errors.New("not a map")
	}
	shards := make(map[string]int, len(m.Value))
	for device := range m.Value {
		n, _, err := attr.WholeNumber(m.Value, device)
		if err != nil || n < 2 || n > store.MaxShards {
			return nil, errors.New("not a number of shards")
		}
		shards[device] = int(n)
	}
	return shards, nil
}

// Covers reports whether a read with this layout finds the readings of a device that were written
// with layout l.
func (s *Stream) Covers(device string, l store.Layout) bool {
	return s.Window > 0 && s.Window%l.Window() == 0 && max(s.Shards[device], 1) >= l.Shards
}

// Widen widens the layout until it also covers l for a device.
func (s *Stream) Widen(device string, l store.Layout) {
	s.Window = store.Layout{RowWindow: s.Window}.Widen(l).RowWindow
	if l.Shards > max(s.Shards[device], 1) {
		if s.Shards = maps.Clone(s.Shards); s.Shards == nil {
			s.Shards = map[string]int{}
		}
		s.Shards[device] = l.Shards
	}
}

// Merge widens the layout until it covers every layout that o covers.
func (s *Stream) Merge(o *Stream) {
	s.Widen("", store.Layout{RowWindow: o.Window})
	for device, n := range o.Shards {
		s.Widen(device, store.Layout{RowWindow: o.Window, Shards: n})
	}
}

// HasLayoutOf reports whether s and o have the same row window and the same shards.
func (s *Stream) HasLayoutOf(o *Stream) bool {
	return s.Window == o.Window && maps.Equal(s.Shards, o.Shards)
}

// StreamOf returns the stream and the device of a row of readings, and a layout that covers the row. The row
// window of the layout is a millisecond if that suffices. Otherwise it is the known row window of the stream
// if the row fits it, and store.MaxRowWindow if not. StreamOf returns false for other rows, such as stream
// rows.
func StreamOf(it attr.Item, known map[string]*Stream) (s Stream, device string, l store.Layout, ok bool) {
	hash, _ := it[AttrSeries].(*attr.Str)
	ids, _ := it[AttrIDs].(*attr.Set)
	if hash == nil || ids == nil || hash.Value == StreamsKey {
		return s, "", l, false
	}
	series, shard, err := ParseSeriesKey(hash.Value)
	if err != nil {
		return s, "", l, false // Check reports the invalid key
	}
	s = Stream{Tenant: series.Tenant, Stream: series.Stream}
	l = store.Layout{RowWindow: time.Millisecond, Shards: shard + 1}
	if slices.ContainsFunc(ids.Value, IsWideKey) {
		l.RowWindow = store.MaxRowWindow
		if is := known[s.Name()]; is != nil && fitsWindow(it, ids.Value, is.Window) {
			l.RowWindow = is.Window
		}
	}
	return s, series.Device, l, true
}

// fitsWindow reports whether a row can have been written with a row window.
func fitsWindow(it attr.Item, keys []string, window time.Duration) bool {
	ts, _ := it[AttrTS].(*attr.Num)
	if ts == nil {
		return false
	}
	ms, _, ok := ParseTS(ts.Value)
	return ok && ms%window.Milliseconds() == 0 && !slices.ContainsFunc(keys, func(key string) bool {
		offset, _, ok := ParseKey(key)
		return !ok || offset >= int64(window)
	})
}
