package prometheus

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// AppendJSON appends the value of the property "data" of an answer. It is an object with the type and
// the value of the result.
func (r *Result) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"resultType":"`...)
	dst = append(dst, string(r.Value.Type())...)
	dst = append(dst, `","result":`...)
	switch v := r.Value.(type) {
	case promql.Matrix:
		dst = appendMatrix(dst, v)
	case promql.Vector:
		dst = append(dst, '[')
		for i := range v {
			dst = appendComma(dst, i)
			dst = append(dst, `{"metric":`...)
			dst = appendLabels(dst, v[i].Metric)
			dst = append(dst, `,"value":`...)
			dst = appendPoint(dst, v[i].T, v[i].F)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	case promql.Scalar:
		dst = appendPoint(dst, v.T, v.V)
	case promql.String:
		dst = append(dst, '[')
		dst = appendTime(dst, v.T)
		dst = append(dst, ',')
		dst = appendText(dst, v.V)
		dst = append(dst, ']')
	default:
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// pointBytes is the usual number of bytes of a sample in JSON. From parallelPoints samples on, several
// processors encode a result.
const (
	pointBytes     = 32
	parallelPoints = 20_000
)

// appendMatrix appends a list of series. If the list is large, each processor encodes a part of it.
func appendMatrix(dst []byte, m promql.Matrix) []byte {
	points, parts := m.TotalSamples(), 1
	if points >= parallelPoints {
		parts = min(runtime.GOMAXPROCS(0), len(m))
	}
	dst = append(slices.Grow(dst, points*pointBytes), '[')
	bodies := make([][]byte, max(parts, 1))
	var others sync.WaitGroup
	times := timesOf(m)
	for part := 1; part < parts; part++ {
		others.Go(func() {
			from, to := part*len(m)/parts, (part+1)*len(m)/parts
			bodies[part] = make([]byte, 0, m[from:to].TotalSamples()*pointBytes)
			for i := from; i < to; i++ {
				bodies[part] = appendSeries(appendComma(bodies[part], i), &m[i], times)
			}
		})
	}
	for i := range len(m) / max(parts, 1) {
		dst = appendSeries(appendComma(dst, i), &m[i], times)
	}
	others.Wait()
	for _, body := range bodies {
		dst = append(dst, body...)
	}
	return append(dst, ']')
}

func appendSeries(dst []byte, s *promql.Series, times *timeTexts) []byte {
	dst = append(dst, `{"metric":`...)
	dst = appendLabels(dst, s.Metric)
	dst = append(dst, `,"values":[`...)
	for i := range s.Floats {
		dst = append(times.appendTo(appendComma(dst, i), s.Floats[i].T), `,"`...)
		dst = append(appendFloat(dst, s.Floats[i].F), '"', ']')
	}
	return append(dst, "]}"...)
}

// timeTexts has the JSON of the times of samples at regular times. The series of a result share it.
type timeTexts struct {
	first, step int64
	ends        []int // end of each time, as an offset in text
	text        []byte
}

// timesOf returns the texts for the times of the first series, up to the first irregular step. For a
// single series or a single sample, it returns an empty timeTexts.
func timesOf(m promql.Matrix) *timeTexts {
	t := &timeTexts{}
	if len(m) < 2 || len(m[0].Floats) < 2 {
		return t
	}
	points := m[0].Floats
	t.first, t.step = points[0].T, points[1].T-points[0].T
	for i := range points {
		if i > 0 && points[i].T-points[i-1].T != t.step {
			break
		}
		t.text = appendTime(append(t.text, '['), points[i].T)
		t.ends = append(t.ends, len(t.text))
	}
	return t
}

// appendTo appends a bracket and a time.
func (t *timeTexts) appendTo(dst []byte, at int64) []byte {
	if at >= t.first && t.step > 0 && (at-t.first)%t.step == 0 {
		if i := (at - t.first) / t.step; i < int64(len(t.ends)) {
			from := 0
			if i > 0 {
				from = t.ends[i-1]
			}
			return append(dst, t.text[from:t.ends[i]]...)
		}
	}
	return appendTime(append(dst, '['), at)
}

func appendLabels(dst []byte, all labels.Labels) []byte {
	dst = append(dst, '{')
	i := 0
	all.Range(func(l labels.Label) {
		dst = appendComma(dst, i)
		dst = appendText(dst, l.Name)
		dst = append(dst, ':')
		dst = appendText(dst, l.Value)
		i++
	})
	return append(dst, '}')
}

// appendText appends a string as JSON.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a string always has a JSON form
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

func appendPoint(dst []byte, t int64, f float64) []byte {
	dst = append(dst, '[')
	dst = appendTime(dst, t)
	dst = append(dst, ',', '"')
	dst = appendFloat(dst, f)
	return append(dst, '"', ']')
}

// appendTime appends milliseconds as seconds, with three decimals unless the second is whole.
func appendTime(dst []byte, t int64) []byte {
	if t < 0 {
		dst, t = append(dst, '-'), -t
	}
	dst = strconv.AppendInt(dst, t/1000, 10)
	if ms := t % 1000; ms > 0 {
		dst = append(dst, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	}
	return dst
}

// appendFloat appends a number as Prometheus does: without an exponent unless it is very small or
// very large.
func appendFloat(dst []byte, f float64) []byte {
	if n := math.Round(f * 1000); n/1000 == f && math.Abs(n) <= maxThousandths && (n != 0 || !math.Signbit(f)) {
		return appendThousandths(dst, int64(n))
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && !math.IsInf(f, 0) && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// maxThousandths is the largest absolute value that appendFloat passes to appendThousandths. It has 15
// digits. No two decimals of 15 digits have the same nearest float64, so the shortest decimal that parses
// to the number is unique.
const maxThousandths = 999_999_999_999_999

// appendThousandths appends n / 1000 without trailing zeros.
func appendThousandths(dst []byte, n int64) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	dst = strconv.AppendInt(dst, n/1000, 10)
	switch rest := n % 1000; {
	case rest == 0:
		return dst
	case rest%100 == 0:
		return append(dst, '.', byte('0'+rest/100))
	case rest%10 == 0:
		return append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10))
	default:
		return append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
}
