package archive

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
)

// SeriesCount is the number of readings of a series in an archive.
type SeriesCount struct {
	Series   varve.Series
	Readings int64
}

// CountDevice returns how many readings of a device an archive has in the days of a window, by series. It
// also reports whether other archives or attempts of the table may exist, because these may have further
// readings. It reads the digests of the archive, and no readings. It fails if the archive is being written or
// deleted.
func (a *Archiver) CountDevice(ctx context.Context, r *Record, tenant, device string, w varve.Window) (counts []SeriesCount, earlier bool, err error) {
	if err := r.checkWhole(); err != nil {
		return nil, false, err
	}
	if earlier = r.Single || len(r.Attempts) > 0; !earlier {
		if earlier, err = a.hasEarlier(ctx, r); err != nil {
			return nil, false, err
		}
	}
	counts, err = a.countDevice(ctx, r, tenant, device, w)
	if err != nil {
		return nil, false, fmt.Errorf("archive of %s: %w", r.Table, err)
	}
	return counts, earlier, nil
}

func (a *Archiver) countDevice(ctx context.Context, r *Record, tenant, device string, w varve.Window) (counts []SeriesCount, err error) {
	m, err := a.files.manifest(ctx, r)
	if err != nil {
		return nil, err
	}
	days, err := a.files.openDays(ctx, m, r.FilesDir())
	if err != nil {
		return nil, err
	}
	table := r.Table.Window()
	days.only = &table // a merged archive has the days of other tables, too
	for {
		d, ok, err := days.next()
		if err != nil || !ok {
			return counts, err
		}
		begin := time.Unix(int64(d.Day)*24*3600, 0)
		if d.Series.Tenant != tenant || d.Series.Device != device || !w.Overlaps(varve.Window{From: begin, To: begin.Add(24 * time.Hour)}) {
			continue
		}
		if n := len(counts); n > 0 && counts[n-1].Series == d.Series {
			counts[n-1].Readings += d.Readings
		} else {
			counts = append(counts, SeriesCount{d.Series, d.Readings})
		}
	}
}
