package wire

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/rollup"
)

// RollupBody is the roll-up of one hour or day.
type RollupBody struct {
	Start    string                 `json:"start" format:"date-time" doc:"beginning of the hour or day, UTC"`
	Readings int64                  `json:"readings" doc:"distinct readings, with numbers or without"`
	Fields   map[string]RollupField `json:"fields" doc:"fields with numbers"`
}

// RollupField is the roll-up of one field, as JSON numbers with all digits.
type RollupField struct {
	Count int64           `json:"count" doc:"readings with a number in this field"`
	Sum   json.RawMessage `json:"sum" doc:"a number, exact, of any length"`
	Min   json.RawMessage `json:"min" doc:"a number, exact"`
	Max   json.RawMessage `json:"max" doc:"a number, exact"`
	Mean  json.RawMessage `json:"mean" doc:"sum divided by count, to 20 significant digits, or as many decimals as the sum has if these are more"`
	First RollupPoint     `json:"first" doc:"by event time"`
	Last  RollupPoint     `json:"last" doc:"by event time"`
}

// RollupPoint is the value of a field in one reading, with the time and the id of the reading.
type RollupPoint struct {
	Time  string          `json:"time" format:"date-time"`
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value" doc:"a number, exact"`
}

// RollupsBody is a page of roll-ups.
type RollupsBody struct {
	Rollups []RollupBody `json:"rollups" doc:"in order of time; periods without readings are omitted"`
	Next    string       `json:"next,omitempty" format:"date-time" doc:"send it as from for the next page; absent at the end"`
	Notes   []Note       `json:"notes,omitempty" doc:"requested fields that no roll-up of the page has"`
}

// Rebuilt counts the hours that a rebuild recounts.
type Rebuilt struct {
	Hours int `json:"hours" doc:"hours to recount, once for each day on which readings of them arrived"`
	Left  int `json:"left" doc:"unchanged hours: readings are gone that are needed to recount them"`
}

// AppendRollups appends a page of roll-ups as JSON.
func AppendRollups(dst []byte, p *rollup.Page, notes []Note) []byte {
	var w rollupWriter
	fields := 0
	for i := range p.Rollups {
		fields += len(p.Rollups[i].Fields)
	}
	dst = slices.Grow(dst, 64*len(p.Rollups)+rollupFieldBytes*fields)
	dst = append(dst, `{"rollups":[`...)
	for i := range p.Rollups {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.appendRollup(append(dst, '\n'), &p.Rollups[i])
	}
	dst = append(dst, ']')
	if !p.Next.IsZero() {
		dst = append(AppendTime(append(dst, `,"next":"`...), p.Next), '"')
	}
	return append(AppendNotes(dst, notes), "}\n"...)
}

// rollupFieldBytes is the usual length in bytes of the JSON of a RollupField.
const rollupFieldBytes = 280

// rollupWriter writes roll-ups, whose times are usually on the same day.
type rollupWriter struct{ clock Clock }

func (w *rollupWriter) appendRollup(dst []byte, r *rollup.Rollup) []byte {
	dst = w.clock.Append(append(dst, `{"start":"`...), r.Start)
	dst = strconv.AppendInt(append(dst, `","readings":`...), r.Readings, 10)
	dst = append(dst, `,"fields":{`...)
	for i := range r.Fields {
		f := &r.Fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, f.Name)
		dst = strconv.AppendInt(append(dst, `:{"count":`...), f.Count, 10)
		dst = f.Sum.Append(append(dst, `,"sum":`...))
		dst = f.Min.Append(append(dst, `,"min":`...))
		dst = f.Max.Append(append(dst, `,"max":`...))
		dst = appendMean(append(dst, `,"mean":`...), &f.Sum, f.Count)
		dst = w.appendPoint(append(dst, `,"first":`...), &f.First)
		dst = w.appendPoint(append(dst, `,"last":`...), &f.Last)
		dst = append(dst, '}')
	}
	return append(dst, "}}"...)
}

func appendMean(dst []byte, sum *decimal.Sum, count int64) []byte {
	if mean, ok := sum.ShortMean(count); ok {
		return mean.Append(dst)
	}
	mean := sum.Mean(count)
	return mean.Append(dst)
}

func (w *rollupWriter) appendPoint(dst []byte, p *rollup.Point) []byte {
	dst = w.clock.appendNano(append(dst, `{"time":"`...), p.At.Time)
	dst = appendID(append(dst, `","id":`...), p.At.ID)
	dst = p.Value.Append(append(dst, `,"value":`...))
	return append(dst, '}')
}
