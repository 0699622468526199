package archive

import (
	"context"

	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store/tablescan"
)

// compareArchives compares the chosen archive with the digests that expectations returns, and adds the
// differences to the plan. If files are damaged, it compares and counts only the readable readings.
func (a Acceptor) compareArchives(ctx context.Context, p *Acceptance, others []candidate) error {
	archives, own, err := a.expectations(ctx, p, others)
	if err != nil || len(archives) == 0 && !p.Rewrite {
		return err
	}
	diff := newDayDiff(archives, p.addDay)
	if p.Rewrite {
		err = a.countReadable(ctx, p, diff)
	} else {
		err = a.passDays(ctx, p, diff)
	}
	if err == nil {
		err = diff.end()
	}
	if err != nil {
		return err
	}
	if p.Rewrite && !own && !p.chosen.entry.equals(p.Readings, p.digest) {
		p.DaysUnknown = true
	}
	return nil
}

// addDay adds a series and day to the lost ones if readings are missing, and to the changed ones if only the
// content differs. The argument "expected" has the digests of this day from the archives that expectations
// returns.
func (p *Acceptance) addDay(expected []parquetfile.DayDigest, got parquetfile.DayDigest) {
	lost, changed := int64(0), int64(0)
	for i := range expected {
		e := &expected[i]
		lost = max(lost, e.Readings-got.Readings)
		if e.Readings != got.Readings || e.Digest != got.Digest {
			changed = max(changed, e.Readings)
		}
	}
	switch {
	case lost > 0:
		p.Lost.add(got.Series, got.Day, lost)
	case changed > 0:
		p.Changed.add(got.Series, got.Day, changed)
	}
}

// expectations returns the digests with which the readings of the chosen archive are compared. The
// result "own" reports whether these include the digests of the chosen archive itself. The result
// has the digests of:
//
//   - the record, unless the chosen archive equals it or has replaced it because of an erasure,
//   - the chosen archive, if its files are damaged,
//   - each archive in the argument "others".
//
// If digests are missing or damaged, the result lacks them, and the plan reports them.
func (a Acceptor) expectations(ctx context.Context, p *Acceptance, others []candidate) (archives []*expectedDays, own bool, err error) {
	add := func(m *Manifest, dir string) (lost, err error) {
		days, err := a.files.openDays(ctx, m, dir)
		if isAbsent(err) {
			return err, nil
		}
		if err == nil {
			w := p.Record.Table.Window() // begins and ends at midnight, so the window selects whole days
			days.only = &w
			archives = append(archives, days)
		}
		return nil, err
	}
	if p.differs {
		m, err := a.files.manifest(ctx, &p.Record)
		lost := err
		if err == nil {
			lost, err = add(m, p.Record.FilesDir())
		}
		if err != nil && !isAbsent(err) {
			return nil, false, err
		}
		p.DaysUnknown = lost != nil
	}
	if p.Rewrite {
		m := p.chosen.manifest
		lost, err := add(m, p.chosen.dir)
		if err != nil {
			return nil, false, err
		}
		if own = lost == nil; !own {
			p.Damaged = append(p.Damaged, DamagedFile{Name: m.Digests.Name, Problem: lost.Error()})
		}
	}
	for i := range others {
		c := &others[i]
		lost, err := add(c.manifest, c.dir)
		if err != nil {
			return nil, false, err
		}
		other := OtherArchive{Manifest: c.key(), Readings: c.entry.Readings, Series: c.entry.Series}
		if lost != nil {
			other.Problem = lost.Error()
		}
		p.Others = append(p.Others, other)
	}
	return archives, own, nil
}

// passDays passes the digests of the chosen archive to a comparison.
func (a Acceptor) passDays(ctx context.Context, p *Acceptance, diff *dayDiff) error {
	days, err := a.files.openDays(ctx, p.chosen.manifest, p.chosen.dir)
	if err != nil {
		return err
	}
	w := p.Record.Table.Window()
	days.only = &w
	return days.passTo(diff)
}

// countReadable counts the readable readings of the chosen archive, and passes their days to a comparison.
func (a Acceptor) countReadable(ctx context.Context, p *Acceptance, diff *dayDiff) error {
	count := tally{emit: diff.add}
	damaged, err := a.files.eachReadable(ctx, p.chosen.manifest, p.chosen.dir, func(b *block.Block) error {
		from, to := rowsIn(b, p.Record.Table.Window())
		return count.addPart(&block.Part{Block: b, From: from, To: to})
	})
	if err != nil {
		return err
	}
	total, err := count.end()
	if err != nil {
		return err
	}
	p.Damaged = append(damaged, p.Damaged...)
	p.Readings, p.Series, p.digest = total.Readings, total.Series, digestText(total.Digest)
	return nil
}

// compareLive counts the readings that only the table has.
func (a Acceptor) compareLive(ctx context.Context, p *Acceptance) error {
	m := p.chosen.manifest
	days, err := a.files.openDays(ctx, m, p.chosen.dir)
	if isAbsent(err) || p.Rewrite {
		return nil // the digests do not describe the readings that the record will have
	}
	if err != nil {
		return err
	}
	w := p.Record.Table.Window()
	days.only = &w
	diff := newDayDiff([]*expectedDays{days}, func(archived []parquetfile.DayDigest, stored parquetfile.DayDigest) {
		more := stored.Readings
		for i := range archived {
			more -= archived[i].Readings
		}
		if more > 0 {
			p.InTable.add(stored.Series, stored.Day, more)
		}
	})
	count := tally{emit: diff.add}
	if err := a.scan(ctx, p.Record.Table, tablescan.Sink{Part: count.addPart, Reading: count.addReading}); err != nil {
		return err
	}
	if _, err := count.end(); err != nil {
		return err
	}
	return diff.end()
}
