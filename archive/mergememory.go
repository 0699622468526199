package archive

import (
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve/archive/parquetfile"
)

// mergedMemory bounds the decoded bytes in memory during a merge, which decodes one row group of each table
// at a time. It is eight row groups with as many bytes of values as a row group may have.
const mergedMemory = 256 << 20

// splitByMemory divides records to be merged into groups of bounded memory. A record that is then alone in
// its group is left out. Compressed sizes do not bound the memory: texts may be a hundred times as large
// decoded, and missing values a thousand times.
func (a merger) splitByMemory(ctx context.Context, records []Record) (groups [][]Record, err error) {
	from, size := 0, int64(0)
	for i := range records {
		largest, err := a.files.largestGroup(ctx, &records[i])
		if err != nil {
			return nil, fmt.Errorf("archive of %s: %w", records[i].Table, err)
		}
		if size+largest > a.mergedMemory {
			groups = append(groups, records[from:i])
			from, size = i, 0
		}
		size += largest
	}
	groups = append(groups, records[from:])
	return slices.DeleteFunc(groups, func(group []Record) bool { return len(group) < 2 }), nil
}

// largestGroup returns the decoded size in bytes of the largest row group of an archive. It reads the footers
// of the files.
func (o *files) largestGroup(ctx context.Context, r *Record) (size int64, err error) {
	m, err := o.manifest(ctx, r)
	if err != nil {
		return 0, err
	}
	for i := range m.Files {
		f := &m.Files[i]
		key := r.FilesDir() + f.Name
		footer, err := o.readRange(ctx, key, &f.Footer)
		if err != nil {
			return 0, err
		}
		known := &parquetfile.Ranges{Length: f.Size}
		known.Add(f.Footer.Offset, footer)
		rd, err := parquetfile.OpenRanges(known)
		if err != nil {
			return 0, contentError{fmt.Errorf("%s: %w", key, err)}
		}
		for n := range rd.Groups() {
			size = max(size, rd.GroupBytes(n))
		}
	}
	return size, nil
}
