package promtest

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Query is a query at each step from Start to End, or at Start if Step is 0.
type Query struct {
	Text       string
	Start, End time.Time
	Step       time.Duration
}

// Queries returns n queries about the fleet. They are evaluated at times in the day before end, which must
// be at a whole hour.
func Queries(seed uint64, n int, end time.Time) []Query {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2))}
	list := make([]Query, n)
	for i := range list {
		list[i] = g.query(end)
	}
	return list
}

type generator struct {
	*rand.Rand
	hours bool // if true, ranges and offsets are whole hours
}

func (g *generator) oneOf(texts ...string) string { return texts[g.IntN(len(texts))] }

func (g *generator) query(end time.Time) Query {
	q := Query{Start: end.Add(-time.Duration(g.IntN(12*60)) * time.Minute)}
	mode := g.IntN(3)
	g.hours = mode == 1
	q.Text = g.vector(2)
	switch mode {
	case 0: // an instant query, at Start
	case 1: // a range query of whole hours, which roll-ups may answer
		q.End = q.Start.Truncate(time.Hour)
		q.Step = time.Duration(1+g.IntN(3)) * time.Hour
		q.Start = q.End.Add(-time.Duration(g.IntN(10)) * time.Hour)
	default:
		q.End = q.Start
		q.Start = q.End.Add(-time.Duration(g.IntN(240)) * time.Minute)
		q.Step = time.Duration(1+g.IntN(900)) * time.Second
	}
	return q
}

// selector returns a selector of a field, with conditions on labels and perhaps an offset.
func (g *generator) selector(field string) string {
	stream := "weather"
	if field == "power" || field == "energy_total" {
		stream = "power"
	}
	device := 4*g.IntN(3) + g.IntN(3)
	if stream == "power" {
		device = 4*g.IntN(3) + 3
	}
	named := fmt.Sprintf("stream=%q", stream)
	bound := g.oneOf(named, named, named, fmt.Sprintf("stream=~%q", stream+"|none"), `device=~"d00|d01|d03|d05|d07"`, fmt.Sprintf("device=\"d%02d\"", device))
	more := g.oneOf("", "", "", `,site!="south"`, `,floor=~"[123]"`, `,device=~"d0.*"`, `,site!~"n.*"`, `,type="sensor"`, `,none=""`)
	if g.IntN(20) == 0 {
		more = g.oneOf(`,site="north"`, `,none="x"`)
	}
	if g.hours {
		return field + "{" + bound + more + "}" + g.oneOf("", "", "", " offset 1h", " offset -2h")
	}
	return field + "{" + bound + more + "}" + g.oneOf("", "", "", "", " offset 7m", " offset 1h", " offset -11m", " offset 3h")
}

func (g *generator) field() string {
	return g.oneOf("temperature", "temperature", "humidity", "power", "energy_total")
}

// ranged returns a range selector of a field.
func (g *generator) ranged(field string) string {
	text := g.selector(field)
	length := g.oneOf("5m", "10m", "37m", "1h", "1h", "2h", "6h")
	if g.hours {
		length = g.oneOf("1h", "2h", "5h", "24h")
	}
	for i := range text {
		if text[i] == '}' {
			return text[:i+1] + "[" + length + "]" + text[i+1:]
		}
	}
	return text
}

func (g *generator) overTime(field string) string {
	r := g.ranged(field)
	kind := g.IntN(5)
	if g.hours && kind < 3 && g.IntN(2) == 0 {
		kind = 4
	}
	switch kind {
	case 0:
		if field != "energy_total" { // a rate of a gauge depends on the version of Prometheus
			return g.oneOf("resets", "changes") + "(" + r + ")"
		}
		return g.oneOf("rate", "increase", "irate", "resets", "changes") + "(" + r + ")"
	case 1:
		return g.oneOf("delta", "idelta", "deriv", "stddev_over_time", "stdvar_over_time", "present_over_time", "last_over_time", "absent_over_time") + "(" + r + ")"
	case 2:
		return g.oneOf(fmt.Sprintf("quantile_over_time(%.2f, %s)", g.Float64(), r), fmt.Sprintf("predict_linear(%s, %d)", r, g.IntN(7200)))
	default: // functions that roll-ups answer
		return g.oneOf("avg", "min", "max", "sum", "count", "last", "present", "absent") + "_over_time(" + r + ")"
	}
}

func (g *generator) scalarOf() string {
	return g.oneOf("+", "-", "*", "/", "%", ">", "<=", "!= bool", "> bool") + fmt.Sprintf(" %.3f", 0.5+g.Float64()*20)
}

// vector returns an expression for a vector, with at most depth levels around its selectors.
func (g *generator) vector(depth int) string {
	field := g.field()
	if depth == 0 {
		if g.IntN(2) == 0 {
			return g.selector(field)
		}
		return g.overTime(field)
	}
	inner := g.vector(depth - 1)
	switch g.IntN(9) {
	case 0, 1:
		return g.oneOf("sum", "avg", "min", "max", "count", "stddev", "group") + g.oneOf("", " by (site)", " by (device)", " without (device)", " by (site, floor)", " by (none)") + " (" + inner + ")"
	case 2:
		return g.oneOf("topk", "bottomk") + g.oneOf("", " by (site)") + fmt.Sprintf(" (%d, %s)", 1+g.IntN(3), g.distinct())
	case 3:
		return "(" + inner + ") " + g.scalarOf()
	case 4:
		return g.oneOf("abs", "ceil", "floor", "round", "sqrt", "sgn", "-", "timestamp", "sort", "absent", "scalar") + "(" + inner + ")"
	case 5:
		return g.binary(depth)
	case 6:
		return g.oneOf("max", "min", "avg", "count", "last", "sum") + "_over_time((" + inner + ")[" + g.oneOf("20m:3m", "1h:10m", "45m:") + "]" + g.oneOf(" offset 13s500ms", " offset 7m500ms") + ")"
	case 7:
		return fmt.Sprintf("quantile%s (%.2f, %s)", g.oneOf("", " by (site)", " by (floor)"), g.Float64(), inner)
	default:
		return inner
	}
}

// distinct returns an expression whose values differ. Prometheus would choose among equal values at random.
func (g *generator) distinct() string {
	field := g.oneOf("temperature", "power")
	if g.IntN(2) == 0 {
		return g.selector(field)
	}
	return g.oneOf("avg", "min", "max", "sum") + "_over_time(" + g.ranged(field) + ")"
}

func (g *generator) binary(depth int) string {
	left, right := "temperature", "humidity"
	if g.IntN(3) == 0 {
		left, right = "energy_total", "power"
	}
	switch g.IntN(4) {
	case 0:
		return g.selector(left) + g.oneOf(" + ", " - ", " * ", " > ", " and ", " unless ") + g.oneOf("on(device) ", "ignoring(site) ", "") + g.selector(right)
	case 1:
		by := g.oneOf("(site)", "(floor)")
		return "sum by " + by + " (" + g.overTime(left) + ")" + g.oneOf(" / ", " - ", " or ", " < ") + "avg by " + by + " (" + g.vector(depth-1) + ")"
	case 2:
		return g.overTime(left) + " * on (site) group_left () max by (site) (" + g.overTime(right) + ")"
	default:
		return g.vector(depth-1) + g.oneOf(" or ", " and ", " unless ") + "(" + g.vector(depth-1) + ")"
	}
}
