package grid

import (
	"cmp"
	"fmt"
	"strings"
)

// MaxPrefix is the largest length of a table prefix, in bytes.
const MaxPrefix = 64

// Table is one cell of the grid. It contains the readings of one prefix with event times in Range
// that arrived in Month. Tables can be compared with ==.
type Table struct {
	Prefix string
	Range
	Month Month
}

// Name returns the name of the table: <prefix>_<start>_<end>_<MM>_<YYYY>.
//
// An example is varve_1794787200_1795392000_11_2026. The ends of the range are Unix seconds
// with ten digits, so that names sort by event time.
func (t Table) Name() string {
	return fmt.Sprintf("%s_%010d_%010d_%02d_%04d", t.Prefix, t.Start, t.End, t.Month.Calendar(), t.Month.Year())
}

// String returns the table's name.
func (t Table) String() string { return t.Name() }

// Compare orders tables by name: by prefix, by range, and then by arrival month as MM_YYYY.
func (t Table) Compare(u Table) int {
	if t.Prefix != u.Prefix {
		return cmp.Compare(t.Prefix+"_", u.Prefix+"_")
	}
	return cmp.Or(
		cmp.Compare(t.Start, u.Start),
		cmp.Compare(t.End, u.End),
		cmp.Compare(t.Month.Calendar(), u.Month.Calendar()),
		cmp.Compare(t.Month, u.Month))
}

// Parse returns the table with the given name. It returns false if the name does not belong to a
// table of Varve.
//
// The prefix must be valid, and both ends of the range must be on the grid. Formatting the table
// must return exactly the given name.
func Parse(name string) (Table, bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 5 || ValidatePrefix(parts[0]) != nil {
		return Table{}, false
	}
	start, ok1 := digits(parts[1], 10)
	end, ok2 := digits(parts[2], 10)
	month, ok3 := digits(parts[3], 2)
	year, ok4 := digits(parts[4], 4)
	if !ok1 || !ok2 || !ok3 || !ok4 || month < 1 || month > 12 || year < 1970 {
		return Table{}, false
	}
	if start >= end || !onGrid(start) || !onGrid(end) {
		return Table{}, false
	}
	t := Table{Prefix: parts[0], Range: Range{start, end}, Month: Month(year*12 + month - 1)}
	return t, t.Name() == name
}

// digits parses exactly n decimal digits.
func digits(s string, n int) (v int64, ok bool) {
	if len(s) != n {
		return 0, false
	}
	for i := range n {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	return v, true
}

// ValidatePrefix checks a prefix, which has 1 to 64 letters, digits and hyphens. It must not
// contain an underscore, because underscores separate the parts of a table's name.
func ValidatePrefix(prefix string) error {
	if prefix == "" {
		return fmt.Errorf("the prefix is empty")
	}
	if len(prefix) > MaxPrefix {
		return fmt.Errorf("the prefix has %d characters, the limit is %d", len(prefix), MaxPrefix)
	}
	for i := range len(prefix) {
		if c := prefix[i]; c-'0' > 9 && c|0x20-'a' > 25 && c != '-' {
			return fmt.Errorf("the prefix %q has %q in it: use letters, digits and hyphens", prefix, c)
		}
	}
	return nil
}
