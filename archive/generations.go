package archive

import (
	"context"
	"path"
	"slices"

	"github.com/varvedb/varve/objectstore"
)

// probedGenerations is the highest generation of a record for which all manifest numbers are tried.
// For a higher one, the objects are listed, because an object of another program may have raised
// the number.
const probedGenerations = 16

// generations returns the numbers of manifests that may exist for the table's own archives, in order. They
// include the generation of the record.
func (o *files) generations(ctx context.Context, r *Record) (numbers []int, err error) {
	last := max(r.Generation, r.Tried)
	if last <= probedGenerations {
		for n := 1; n <= last; n++ {
			numbers = append(numbers, n)
		}
		return numbers, nil
	}
	err = o.objects.List(ctx, r.Dir, func(found objectstore.Object) error {
		if n := generationOf(path.Base(found.Key)); n >= 1 && n <= last && found.Key == r.Dir+manifestName(n) {
			numbers = append(numbers, n)
		}
		return nil
	})
	if !slices.Contains(numbers, r.Generation) {
		numbers = append(numbers, r.Generation) // the recorded archive counts as stored, even if the list lacks its manifest
	}
	slices.Sort(numbers)
	return numbers, err
}
