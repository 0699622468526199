package archive

import (
	"github.com/varvedb/varve/archive/parquetfile"
)

// dayDiff compares counted series and days with the digests of archives. All are in ascending order. It calls
// the function "report" for each series and day that was counted or that an archive has, with the digests of
// these archives.
type dayDiff struct {
	archives []*expectedDays
	report   func(expected []parquetfile.DayDigest, got parquetfile.DayDigest)
	next     []parquetfile.DayDigest // next digest of each archive; after the last one, a digest whose Readings is 0
	found    []parquetfile.DayDigest
	begun    bool
}

func newDayDiff(archives []*expectedDays, report func([]parquetfile.DayDigest, parquetfile.DayDigest)) *dayDiff {
	return &dayDiff{archives: archives, report: report, next: make([]parquetfile.DayDigest, len(archives))}
}

// advance reads the next digest of an archive.
func (d *dayDiff) advance(i int) error {
	for {
		next, more, err := d.archives[i].next()
		if err != nil {
			return contentError{err}
		}
		if d.next[i] = next; !more || next.Readings > 0 {
			return nil
		}
	}
}

// begin reads the first digest of each archive.
func (d *dayDiff) begin() error {
	if d.begun {
		return nil
	}
	d.begun = true
	for i := range d.archives {
		if err := d.advance(i); err != nil {
			return err
		}
	}
	return nil
}

// firstDay returns the first series and day of the next digests, or false after the last ones.
func (d *dayDiff) firstDay() (day parquetfile.DayDigest, ok bool) {
	for _, n := range d.next {
		if n.Readings > 0 && (!ok || compareDays(&n, &day) < 0) {
			day, ok = parquetfile.DayDigest{Series: n.Series, Day: n.Day}, true
		}
	}
	return day, ok
}

// pass reports a series and day, and advances the archives that have it.
func (d *dayDiff) pass(got parquetfile.DayDigest) error {
	d.found = d.found[:0]
	for i := range d.next {
		n := d.next[i]
		if n.Readings == 0 || compareDays(&n, &got) != 0 {
			continue
		}
		d.found = append(d.found, n)
		if err := d.advance(i); err != nil {
			return err
		}
	}
	d.report(d.found, got)
	return nil
}

func compareDays(a, b *parquetfile.DayDigest) int {
	if order := a.Series.Compare(b.Series); order != 0 {
		return order
	}
	return int(a.Day) - int(b.Day)
}

// add reports each series and day of the archives that precedes the counted one, and then the counted one.
func (d *dayDiff) add(got parquetfile.DayDigest) error {
	if err := d.begin(); err != nil {
		return err
	}
	for day, ok := d.firstDay(); ok && compareDays(&day, &got) < 0; day, ok = d.firstDay() {
		if err := d.pass(day); err != nil {
			return err
		}
	}
	return d.pass(got)
}

// end reports the digests after the last counted day.
func (d *dayDiff) end() error {
	if err := d.begin(); err != nil {
		return err
	}
	for day, ok := d.firstDay(); ok; day, ok = d.firstDay() {
		if err := d.pass(day); err != nil {
			return err
		}
	}
	return nil
}

// passTo passes all digests of an archive to a comparison.
func (e *expectedDays) passTo(diff *dayDiff) error {
	for {
		day, more, err := e.next()
		if err != nil || !more {
			return err
		}
		if err := diff.add(day); err != nil {
			return err
		}
	}
}
