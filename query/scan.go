package query

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// ScanCopies calls a scanner for each stored copy of the readings of a series in a window, including
// all versions. The copies include expired readings that have not been dropped, and all readings
// acknowledged before the call.
//
// ScanCopies ends with the first error of the scanner. It fails if a table was dropped during the
// scan, because copies may be missing then.
func (e *Engine) ScanCopies(ctx context.Context, s varve.Series, w varve.Window, scan store.CopyScanner) error {
	rows, err := e.Open(ctx, Query{Series: s, Window: w, Consistent: true, Expired: true, Versions: true, isScan: true})
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		rows.releasePage()
		first, err := rows.tables.nextSource(ctx, wanted{left: -1, columns: true})
		if err != nil {
			return err
		}
		if first == nil {
			break
		}
		if err := rows.scanNext(first, scan); err != nil {
			return err
		}
	}
	if missing := rows.tables.coverage.Missing; len(missing) > 0 {
		return &varve.Error{Failure: varve.Unavailable, Err: store.ErrNoTable, Message: missing[0] + " was dropped while it was read: send the request again"}
	}
	return nil
}

// scanNext passes the next copies to scan. The argument "first" is the source with the earliest unread
// reading.
func (r *Rows) scanNext(first *source, scan store.CopyScanner) error {
	switch {
	case len(first.parts) > 0:
		r.emitParts(first)
		for i := range r.parts {
			if err := scan.Columns(&r.parts[i]); err != nil {
				return err
			}
		}
	case r.tables.isAlone(first):
		for i := range first.page {
			versioned := first.page[i].ID.Version() > 0 || first.isCorrected(i)
			if err := scan.Copy(store.Copy{Reading: &first.page[i], First: true, Versioned: versioned}); err != nil {
				return err
			}
		}
		first.page = nil
	default:
		copies := r.tables.takeCopies(first)
		versioned := copies[0].ID.Version() > 0 || r.tables.isCorrected(copies[0].Position())
		for i, c := range copies {
			if err := scan.Copy(store.Copy{Reading: c, First: i == 0, Versioned: versioned}); err != nil {
				return err
			}
		}
	}
	return nil
}
