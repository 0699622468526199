package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/quote"
)

// kind identifies the calculation of a function.
type kind uint8

const (
	countAll kind = iota + 1
	countNumbers
	sum
	mean
	lowest
	highest
	firstValue
	lastValue
	deviation
	percentile
)

var kinds = map[string]kind{
	"count": countAll, "numbers": countNumbers, "sum": sum, "mean": mean, "min": lowest, "max": highest,
	"first": firstValue, "last": lastValue, "stddev": deviation,
}

// FunctionNames lists all functions. pNN stands for any percentile from p0 to p100.
const FunctionNames = "count, numbers, sum, mean, min, max, first, last, stddev, pNN"

const maxFunctions = 20

// Function is one result per bucket and field. Functions are comparable with ==.
//
//	count    all values, also text and booleans
//	numbers  values that are numbers
//	sum      exact
//	mean     sum divided by numbers, rounded as in roll-ups
//	min max  exact
//	first    first number by event time and id; last likewise
//	stddev   population standard deviation, rounded once to 20 significant digits
//	pNN      percentile: linear between the two closest ranks, exact
type Function struct {
	name string
	kind kind
	// A percentile is percent / 10^places, from 0 to 100.
	percent int64
	places  int
}

// String returns the name of the function.
func (f Function) String() string { return f.name }

// maxPlaces is the largest number of decimals of a percentile, as in p99.9999.
const maxPlaces = 4

// ParseFunction parses the name of a function, such as mean or p99.9.
func ParseFunction(name string) (Function, error) {
	if k, ok := kinds[name]; ok {
		return Function{name: name, kind: k}, nil
	}
	wrong := fmt.Errorf("%s is unknown: use %s", quote.Text(name), FunctionNames)
	text, ok := strings.CutPrefix(name, "p")
	if !ok || strings.Trim(text, "0123456789.") != "" {
		return Function{}, wrong
	}
	n, err := decimal.Parse(text)
	if err != nil || n.Compare(decimal.FromInt(100)) > 0 {
		return Function{}, wrong
	}
	percent, exp, ok := n.Canonical().Scaled()
	if !ok || exp < -maxPlaces {
		return Function{}, fmt.Errorf("%s has too many decimals: use at most %d", name, maxPlaces)
	}
	for ; exp > 0; exp-- {
		percent *= 10
	}
	return Function{name: name, kind: percentile, percent: percent, places: -exp}, nil
}

// ParseFunctions parses the names of functions. If names is empty, it returns mean, min and max.
func ParseFunctions(names []string) (list []Function, err error) {
	if len(names) == 0 {
		names = []string{"mean", "min", "max"}
	}
	if len(names) > maxFunctions {
		return nil, fmt.Errorf("%d are too many: use at most %d", len(names), maxFunctions)
	}
	for _, name := range names {
		f, err := ParseFunction(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list, nil
}

// isCount reports whether the function counts values. For a bucket without values, its result is 0.
func (f Function) isCount() bool { return f.kind == countAll || f.kind == countNumbers }

func (f Function) inRollups() bool {
	return f.kind != countAll && f.kind != deviation && f.kind != percentile
}

// needs selects the results that each cell must compute for the functions of the query.
type needs struct{ sum, squares, bounds, ends, numbers bool }

func needsOf(functions []Function) (n needs) {
	for _, f := range functions {
		switch f.kind {
		case sum, mean:
			n.sum = true
		case deviation:
			n.sum, n.squares = true, true
		case lowest, highest:
			n.bounds = true
		case firstValue, lastValue:
			n.ends = true
		case percentile:
			n.numbers = true
		default:
		}
	}
	return n
}
