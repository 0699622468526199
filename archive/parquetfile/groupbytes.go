package parquetfile

const (
	// slotBytes is the assumed memory for each row of a column in which some rows have no value. It includes
	// the index and the definition of the row, and the buffers for decoding.
	slotBytes = 8
	// looseBytes is the smallest size of a value in the column "others", as in "a":1 with a comma.
	looseBytes = 6
)

// GroupBytes returns the assumed memory of a decoded row group in bytes. It includes the values as they are before
// compression, and the rows that lack values. In the column "others", each value may belong to another field. If
// the file lacks the row group, the result is 0.
func (rd *Reader) GroupBytes(i int) int64 {
	all := rd.file.Metadata().RowGroups
	if i >= len(all) {
		return 0
	}
	g := &all[i]
	sparse := int64(0) // number of columns that lack values
	for c := range g.Columns {
		switch m := &g.Columns[c].MetaData; {
		case c == rd.layout.others() && m.Statistics.NullCount < g.NumRows:
			sparse += m.TotalUncompressedSize / looseBytes
		case m.Statistics.NullCount > 0:
			sparse++
		}
	}
	return g.TotalByteSize + slotBytes*min(sparse*g.NumRows, groupSlots)
}
