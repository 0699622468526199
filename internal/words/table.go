package words

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Key selects the count of one rule in one file.
type Key struct {
	File string
	Rule string
}

// Table has the number of allowed findings for each file and rule.
type Table map[Key]int

// Count counts findings by file and rule.
func Count(all []Finding) Table {
	t := Table{}
	for _, f := range all {
		t[Key{f.File, f.Rule}]++
	}
	return t
}

// ParseTable reads a table: lines of file, rule and count.
func ParseTable(text []byte) (Table, error) {
	t := Table{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var k Key
		var count int
		if _, err := fmt.Sscanf(line, "%s %s %d", &k.File, &k.Rule, &count); err != nil {
			return nil, fmt.Errorf("parse line %d: %w", n, err)
		}
		if _, ok := RuleNamed(k.Rule); !ok || count <= 0 || t[k] != 0 {
			return nil, fmt.Errorf("parse line %d: unknown rule, duplicate line, or count below 1", n)
		}
		t[k] = count
	}
	return t, lines.Err()
}

// Format returns the table as text, sorted by file and rule.
func (t Table) Format() []byte {
	var b bytes.Buffer
	b.WriteString("# Findings that are allowed for now: file, rule, count. See docs/style.md.\n")
	for _, k := range t.keys() {
		fmt.Fprintf(&b, "%s %s %d\n", k.File, k.Rule, t[k])
	}
	return b.Bytes()
}

// Totals returns the sum of the counts for each rule.
func (t Table) Totals() map[string]int {
	sums := map[string]int{}
	for k, n := range t {
		sums[k.Rule] += n
	}
	return sums
}

// Compare compares the counts in found with the allowed counts. It returns the keys with higher
// counts and the keys with lower counts.
func (t Table) Compare(found Table) (rises, falls []Key) {
	for _, k := range found.keys() {
		if found[k] > t[k] {
			rises = append(rises, k)
		}
	}
	for _, k := range t.keys() {
		if found[k] < t[k] {
			falls = append(falls, k)
		}
	}
	return rises, falls
}

// Lower returns a table with the lower of the two counts for each key. A file that is new to the
// table may have counts that other files lost, so a renamed file still has its counts.
func (t Table) Lower(found Table) Table {
	next, room, known := Table{}, map[string]int{}, map[string]bool{}
	for k, n := range t {
		known[k.File] = true
		if left := min(n, found[k]); left > 0 {
			next[k] = left
		}
		room[k.Rule] += n - min(n, found[k])
	}
	for _, k := range found.keys() {
		if !known[k.File] && found[k] <= room[k.Rule] {
			next[k] = found[k]
			room[k.Rule] -= found[k]
		}
	}
	return next
}

func (t Table) keys() []Key {
	all := make([]Key, 0, len(t))
	for k := range t {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}
