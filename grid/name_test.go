package grid_test

import (
	"cmp"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/grid"
	"pgregory.net/rapid"
)

func genTable() *rapid.Generator[grid.Table] {
	prefix := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9-]{1,8}`), rapid.StringMatching(`[A-Za-z0-9-]{64}`), rapid.SampledFrom([]string{"a", "a-b", "aB", "a0", "A", "-"}))
	return rapid.Custom(func(t *rapid.T) grid.Table {
		m := genMonth().Draw(t, "month")
		return grid.Table{
			Prefix: prefix.Draw(t, "prefix"), Month: m,
			Range: rapid.SampledFrom(genPolicy().Draw(t, "policy").Ranges(m)).Draw(t, "range"),
		}
	})
}

func TestName_Examples(t *testing.T) {
	table := grid.Table{Prefix: "varve", Range: grid.Range{Start: 1794787200, End: 1795392000}, Month: grid.NewMonth(2026, time.November)}
	const name = "varve_1794787200_1795392000_11_2026"
	if table.Name() != name || table.String() != name {
		t.Errorf("named %s, want %s", table.Name(), name)
	}
	if got, ok := grid.Parse(name); !ok || got != table {
		t.Errorf("read as %+v, %t", got, ok)
	}
	oldest := grid.Table{Prefix: "x", Range: grid.Range{Start: 0, End: 345600}, Month: firstMonth}
	if got, want := oldest.Name(), "x_0000000000_0000345600_01_1970"; got != want {
		t.Errorf("named %s, want %s", got, want)
	}
}

func TestName_RoundTrip(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		table := genTable().Draw(t, "table")
		if got, ok := grid.Parse(table.Name()); !ok || got != table {
			t.Fatalf("%s is read as %+v, %t", table, got, ok)
		}
	})
}

// TestName_SortsByTime checks that tables sort in the order of their names, and tables with the
// same prefix in the order of their event ranges.
func TestName_SortsByTime(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		a, b := genTable().Draw(t, "a"), genTable().Draw(t, "b")
		if rapid.Bool().Draw(t, "same prefix") {
			b.Prefix = a.Prefix
		}
		if rapid.Bool().Draw(t, "same range") {
			b.Range = a.Range
		}
		want := strings.Compare(a.Name(), b.Name())
		if got := a.Compare(b); got != want || b.Compare(a) != -want || (want == 0) != (a == b) {
			t.Fatalf("Compare(%s, %s) is %d, want %d", a, b, got, want)
		}
		if byTime := cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)); a.Prefix == b.Prefix && byTime != 0 && byTime != want {
			t.Fatalf("%s and %s: by name %d, by time %d", a, b, want, byTime)
		}
	})
}

var nameForm = regexp.MustCompile(`^([A-Za-z0-9-]{1,64})_([0-9]{10})_([0-9]{10})_(0[1-9]|1[0-2])_([0-9]{4})$`)

// isOurs reports whether a name is the name of a table. It uses a different algorithm from Parse.
func isOurs(name string) bool {
	parts := nameForm.FindStringSubmatch(name)
	if parts == nil || strings.Contains(name, "\n") {
		return false
	}
	start, _ := strconv.ParseInt(parts[2], 10, 64)
	end, _ := strconv.ParseInt(parts[3], 10, 64)
	return start < end && onMonday(start) && onMonday(end) && parts[5] >= "1970"
}

// checkName checks that Parse accepts a name if and only if it is a table's name, and that the
// returned table has that name.
func checkName(t testing.TB, name string) (ours bool) {
	t.Helper()
	table, ok := grid.Parse(name)
	if ok != isOurs(name) {
		t.Fatalf("%q is taken: %t", name, ok)
	}
	if ok && table.Name() != name {
		t.Fatalf("%q is taken as %q", name, table.Name())
	}
	if !ok && table != (grid.Table{}) && table.Name() == name {
		t.Fatalf("%q is refused, and stands for %+v", name, table)
	}
	return ok
}

func TestParse_RejectsForeignNames(t *testing.T) {
	tests := []struct{ reason, name string }{
		{"empty", ""},
		{"another's", "users"},
		{"underscores only", "____"},
		{"no prefix", "_1794787200_1795392000_11_2026"},
		{"a prefix with an underscore", "my_varve_1794787200_1795392000_11_2026"},
		{"a prefix with a point", "my.varve_1794787200_1795392000_11_2026"},
		{"a prefix of other letters", "värve_1794787200_1795392000_11_2026"},
		{"a prefix of 65", strings.Repeat("p", 65) + "_1794787200_1795392000_11_2026"},
		{"no month", "varve_1794787200_1795392000_2026"},
		{"month 0", "varve_1794787200_1795392000_00_2026"},
		{"month 13", "varve_1794787200_1795392000_13_2026"},
		{"month of one digit", "varve_1794787200_1795392000_1_2026"},
		{"year 1969", "varve_1794787200_1795392000_11_1969"},
		{"year 0", "varve_1794787200_1795392000_11_0000"},
		{"year of five digits", "varve_1794787200_1795392000_11_02026"},
		{"year of two digits", "varve_1794787200_1795392000_11_26"},
		{"more behind it", "varve_1794787200_1795392000_11_2026_bak"},
		{"a copy", "varve_1794787200_1795392000_11_2026-copy"},
		{"a line break behind it", "varve_1794787200_1795392000_11_2026\n"},
		{"a blank before it", " varve_1794787200_1795392000_11_2026"},
		{"a second past Monday", "varve_1794787201_1795392000_11_2026"},
		{"a day past Monday", "varve_1794873600_1795392000_11_2026"},
		{"an end on Tuesday", "varve_1794787200_1795478400_11_2026"},
		{"empty range", "varve_1794787200_1794787200_11_2026"},
		{"reversed range", "varve_1795392000_1794787200_11_2026"},
		{"range from the epoch to itself", "varve_0000000000_0000000000_11_2026"},
		{"milliseconds", "varve_1794787200000_1795392000000_11_2026"},
		{"nine digits", "varve_794787200_1795392000_11_2026"},
		{"a sign", "varve_+794787200_1795392000_11_2026"},
		{"a minus", "varve_-794787200_1795392000_11_2026"},
		{"hexadecimal", "varve_0x94787200_1795392000_11_2026"},
		{"digits of another script", "varve_１794787200_1795392000_11_2026"},
		{"blanks for zeros", "varve_         0_1795392000_11_2026"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if checkName(t, tt.name) {
				t.Errorf("%q is taken as Varve's", tt.name)
			}
		})
	}
}

func mutate(rng *rand.Rand, name string) string {
	const letters = "0123456789abzABZ_-+. \x00\xff"
	at := rng.IntN(len(name))
	c := string(letters[rng.IntN(len(letters))])
	parts := strings.Split(name, "_")
	switch rng.IntN(8) {
	case 0:
		return name[:at] + c + name[at+1:]
	case 1:
		return name[:at] + c + name[at:]
	case 2:
		return name[:at] + name[at+1:]
	case 3:
		return name + c
	case 4:
		i, j := rng.IntN(len(parts)), rng.IntN(len(parts))
		parts[i], parts[j] = parts[j], parts[i]
	case 5:
		parts = append(parts, parts[rng.IntN(len(parts))])
	case 6: // another time, which may be another Monday
		i := min(1+rng.IntN(2), len(parts)-1)
		n, _ := strconv.ParseInt(parts[i], 10, 64)
		steps := []int64{1, -1, 86400, -86400, 604800, -604800, 3600, 4 * 604800}
		parts[i] = leftPad(strconv.FormatInt(n+steps[rng.IntN(len(steps))], 10), 10)
	default:
		parts = slices.Delete(parts, at%len(parts), at%len(parts)+1)
	}
	return strings.Join(parts, "_")
}

func leftPad(s string, n int) string { return strings.Repeat("0", max(n-len(s), 0)) + s }

// TestParse_ChecksMutatedNames parses names of tables after one or two random changes. Parse must accept
// exactly the changed names that are names of tables.
func TestParse_ChecksMutatedNames(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	seed := uint64(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Unix())
	rng := rand.New(rand.NewPCG(seed, 1))
	p := grid.DefaultPolicy()
	taken := 0
	for range n {
		m := firstMonth + grid.Month(rng.IntN(int(lastMonth-firstMonth)))
		ranges := p.Ranges(m)
		name := grid.Table{Prefix: []string{"varve", "a", "acme-7"}[rng.IntN(3)], Range: ranges[rng.IntN(len(ranges))], Month: m}.Name()
		for range 1 + rng.IntN(2) {
			if name != "" {
				name = mutate(rng, name)
			}
		}
		if checkName(t, name) {
			taken++
		}
	}
	if taken < n/100 || taken > n/2 {
		t.Errorf("%d of %d mutated names are Varve's: the mutations show little", taken, n)
	}
}

func TestValidatePrefix_ChecksCharacters(t *testing.T) {
	for prefix, want := range map[string]bool{
		"varve": true, "v": true, "-": true, "A-Z-0-9": true, strings.Repeat("p", 64): true,
		"": false, strings.Repeat("p", 65): false, "a_b": false, "a.b": false, "a b": false, "é": false, "a\x00": false,
		"a@": false, "a[": false, "a`": false, "a{": false, "a/": false, "a:": false,
	} {
		if err := grid.ValidatePrefix(prefix); (err == nil) != want {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"varve_1794787200_1795392000_11_2026", "x_0000000000_0000345600_01_1970", "a-b_0000345600_9999504000_12_9999", "varve_1794787200_1795392000_00_2026",
		"_1794787200_1795392000_11_2026", "varve_1794787201_1795392000_11_2026", "varve__1795392000_11_2026", "varve_1795392000_1794787200_11_2026", "____", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) { checkName(t, name) })
}
