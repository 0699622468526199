package aggregate_test

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/decimal"
)

// The oracle computes aggregates in a slow and simple way, with rational numbers from the texts of
// values. It finds buckets by stepping through time, and uses no algorithm of package aggregate.

// value parses true, false or a number. A text with other characters than digits, ".", "e" and "-"
// becomes a string.
func value(t TB, text string) varve.Value {
	switch {
	case text == "true" || text == "false":
		return varve.BoolValue(text == "true")
	case strings.Trim(text, "0123456789.e-") != "":
		return varve.StringValue(text)
	}
	n, err := decimal.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return varve.NumberValue(n)
}

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a number: " + text)
	}
	return r
}

// oracleStep is a step of the oracle. It has a fixed length in seconds, or a function that
// numbers the calendar groups, such as weeks.
type oracleStep struct {
	text    string
	seconds int64
	group   func(y, m, day int64) int64 // returns the calendar group of a date; day is counted from 1970-01-01
}

func each(n int64) func(y, m, day int64) int64 {
	return func(_, _, day int64) int64 { return (day + 700*n) / n }
}

var oracleSteps = []oracleStep{
	{text: "1s", seconds: 1}, {text: "5m", seconds: 300}, {text: "15m", seconds: 900}, {text: "1h", seconds: 3600},
	{text: "1h30m", seconds: 5400}, {text: "6h", seconds: 21600}, {text: "12h", seconds: 43200},
	{text: "1d", group: each(1)}, {text: "24h", group: each(1)}, {text: "3d", group: each(3)},
	{text: "1w", group: func(_, _, day int64) int64 { return (day + 3) / 7 }},
	{text: "1mo", group: func(y, m, _ int64) int64 { return 12*y + m }},
	{text: "2mo", group: func(y, m, _ int64) int64 { return 6*y + (m-1)/2 }},
	{text: "1y", group: func(y, _, _ int64) int64 { return y }},
}

// groupAt returns the number of the calendar group, such as the day or the week, of a time in a
// zone.
func (s *oracleStep) groupAt(sec int64, z *time.Location) int64 {
	t := time.Unix(sec, 0).In(z)
	group := s.group
	if group == nil {
		group = each(1)
	}
	day := time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC).Unix() / 86400
	return group(int64(t.Year()), int64(t.Month()), day)
}

// startAt returns the beginning of the bucket of a time. It searches back by quarters of an hour,
// because the clocks of propertyZones change only at such times.
func (s *oracleStep) startAt(sec int64, z *time.Location) int64 {
	if s.seconds > 0 && z == time.UTC {
		return sec - sec%s.seconds
	}
	const quarter = 900
	first := sec - sec%quarter
	for g := s.groupAt(sec, z); s.groupAt(first-quarter, z) == g; first -= quarter {
	}
	if s.seconds > 0 {
		return first + (sec-first)/s.seconds*s.seconds
	}
	return first
}

// oracleCell has the values of one field in one bucket.
type oracleCell struct {
	all     int        // number of values of any kind
	numbers []*big.Rat // ordered by position, then by device
	texts   []string
}

type oracleKey struct {
	device string
	start  int64
}

// oracleBuckets returns the number of readings of each bucket, and the cells of each bucket by
// field.
func oracleBuckets(model []varve.Reading, q *aggregate.Query, s *oracleStep, z *time.Location) (readings map[oracleKey]int, cells map[oracleKey]map[string]*oracleCell) {
	readings, cells = map[oracleKey]int{}, map[oracleKey]map[string]*oracleCell{}
	sorted := slices.Clone(model)
	slices.SortFunc(sorted, func(a, b varve.Reading) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID.String(), b.ID.String()), cmp.Compare(a.Device, b.Device))
	})
	for _, r := range sorted {
		if r.Time.Before(q.Window.From) || !r.Time.Before(q.Window.To) || !slices.Contains(q.Devices, r.Device) {
			continue
		}
		k := oracleKey{device: r.Device, start: s.startAt(r.Time.Unix(), z)}
		if q.Merge {
			k.device = ""
		}
		readings[k]++
		for _, f := range r.Fields {
			if len(q.Fields) > 0 && !slices.Contains(q.Fields, f.Name) {
				continue
			}
			if cells[k] == nil {
				cells[k] = map[string]*oracleCell{}
			}
			c := cells[k][f.Name]
			if c == nil {
				c = &oracleCell{}
				cells[k][f.Name] = c
			}
			c.all++
			if f.Value.Kind() == varve.KindNumber {
				c.numbers, c.texts = append(c.numbers, rat(f.Value.String())), append(c.texts, f.Value.String())
			}
		}
	}
	return readings, cells
}

func ratOf(n int) *big.Rat { return big.NewRat(int64(n), 1) }

func (c *oracleCell) sum(power int) *big.Rat {
	s := new(big.Rat)
	for _, x := range c.numbers {
		y := x
		if power == 2 {
			y = new(big.Rat).Mul(x, x)
		}
		s.Add(s, y)
	}
	return s
}

// result returns the value of a function, or nil if it has none. For stddev, it returns the
// square of the value.
func (c *oracleCell) result(function string) *big.Rat {
	n := len(c.numbers)
	switch {
	case function == "count":
		return ratOf(c.all)
	case function == "numbers":
		return ratOf(n)
	case n == 0:
		return nil
	}
	sorted := slices.Clone(c.numbers)
	slices.SortFunc(sorted, (*big.Rat).Cmp)
	switch function {
	case "sum":
		return c.sum(1)
	case "mean":
		return new(big.Rat).Quo(c.sum(1), ratOf(n))
	case "min":
		return sorted[0]
	case "max":
		return sorted[n-1]
	case "first":
		return c.numbers[0]
	case "last":
		return c.numbers[n-1]
	case "stddev":
		m := new(big.Rat).Quo(c.sum(1), ratOf(n))
		v := new(big.Rat).Quo(c.sum(2), ratOf(n))
		return v.Sub(v, m.Mul(m, m))
	}
	// The rank of a percentile is (n-1) × percent / 100. Between two ranks, the value is
	// interpolated.
	h := new(big.Rat).Mul(ratOf(n-1), new(big.Rat).Quo(rat(function[1:]), ratOf(100)))
	i := int(new(big.Int).Quo(h.Num(), h.Denom()).Int64())
	part := new(big.Rat).Sub(h, ratOf(i))
	if part.Sign() == 0 {
		return sorted[i]
	}
	way := new(big.Rat).Sub(sorted[i+1], sorted[i])
	return way.Mul(way, part).Add(way, sorted[i])
}

// agree reports whether a text is the exact value. For a function that rounds, the value may differ
// by the largest error of rounding to 20 significant digits.
func agree(function, text string, want *big.Rat) bool {
	if want == nil || text == "null" {
		return want == nil && text == "null"
	}
	got := rat(text)
	switch function {
	case "mean", "linear":
		return near(got, want)
	case "stddev":
		if want.Sign() == 0 {
			return got.Sign() == 0
		}
		low, high := widen(got)
		return low.Mul(low, low).Cmp(want) <= 0 && high.Mul(high, high).Cmp(want) >= 0
	default:
		return got.Cmp(want) == 0
	}
}

// widen returns a lower and an upper bound of all numbers that round to x at 20 significant digits.
func widen(x *big.Rat) (low, high *big.Rat) {
	half := new(big.Rat).Mul(new(big.Rat).Abs(x), rat("0.5e-19"))
	return new(big.Rat).Sub(x, half), new(big.Rat).Add(x, half)
}

func near(got, want *big.Rat) bool {
	low, high := widen(got)
	return low.Cmp(want) <= 0 && high.Cmp(want) >= 0
}

func digits(text string) int {
	mantissa, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), "e")
	plain := strings.TrimLeft(strings.ReplaceAll(mantissa, ".", ""), "0")
	if !strings.Contains(mantissa, ".") {
		plain = strings.TrimRight(plain, "0")
	}
	return len(plain)
}

func percentName(tenths int) string {
	return "p" + strconv.FormatFloat(float64(tenths)/10, 'f', -1, 64)
}
