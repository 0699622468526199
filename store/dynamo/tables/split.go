package tables

import (
	"maps"
	"slices"
	"strconv"
)

// partTables is the largest number of tables in one part of a report. A table needs at most about 600
// bytes, and DynamoDB limits an item to 400 KB.
const partTables = 500

// splitter divides the reports of one process into parts. A table stays in its part while it is reported.
// So it is never in two parts, which would count its use twice.
type splitter struct {
	parts map[string]int // number of the part of each table
	count int            // largest number of parts so far
}

// partKey returns the key of a part. The first part has the key of the process.
func partKey(process string, n int) string {
	if n == 0 {
		return process
	}
	return process + "-" + strconv.Itoa(n)
}

// divide divides a report into at least as many parts as before. Each part replaces an item of the last
// report, so a missing part would leave an old item.
func (s *splitter) divide(r *report) []report {
	maps.DeleteFunc(s.parts, func(table string, _ int) bool { _, ok := r.Tables[table]; return !ok })
	if s.parts == nil {
		s.parts = map[string]int{}
	}
	sizes := make([]int, max(s.count, 1))
	for _, n := range s.parts {
		sizes[n]++
	}
	for _, table := range slices.Sorted(maps.Keys(r.Tables)) {
		if _, ok := s.parts[table]; ok {
			continue
		}
		n := slices.IndexFunc(sizes, func(size int) bool { return size < partTables })
		if n < 0 {
			n, sizes = len(sizes), append(sizes, 0)
		}
		s.parts[table] = n
		sizes[n]++
	}
	s.count = len(sizes)
	parts := make([]report, s.count)
	for n := range parts {
		parts[n] = report{Since: r.Since, At: r.At, Tables: map[string]usage{}}
	}
	for table, u := range r.Tables {
		parts[s.parts[table]].Tables[table] = u
	}
	return parts
}
