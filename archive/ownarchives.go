package archive

import (
	"context"
	"fmt"
	"slices"
)

// checkOwn fails if a merged archive may have the only copy of a table. A table in Kept has no other known
// copy while it has no record. If the record of a table points to another archive, a file of that archive may
// be missing or differ. That happens if the registry is restored from a backup that was made during the merge.
func (a merger) checkOwn(ctx context.Context, m *Merged, records []Record) error {
	for _, t := range m.Kept {
		if !slices.ContainsFunc(records, func(r Record) bool { return r.Table == t }) {
			return fmt.Errorf("it may have the only copy of %s, which has no record: use varve archive accept %s", t, t)
		}
	}
	for i := range records {
		r := &records[i]
		if r.State != Archived || m.has(r) {
			continue
		}
		manifest, err := a.files.manifest(ctx, r)
		if err == nil {
			err = a.files.examine(ctx, manifest, r.FilesDir())
		}
		if err != nil {
			return fmt.Errorf("it may have the only copy of %s: %w", r.Table, err)
		}
	}
	return nil
}
