package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store/tablescan"
)

// eachReadable passes the readable readings of an archive to the function "each", in order. It
// returns the files that are missing or damaged. A row group is readable if it and the footer match
// their checksums.
func (o *files) eachReadable(ctx context.Context, m *Manifest, dir string, each func(*block.Block) error) (damaged []DamagedFile, err error) {
	report := func(name string, err error) {
		if n := len(damaged); n == 0 || damaged[n-1].Name != name {
			damaged = append(damaged, DamagedFile{Name: name, Problem: err.Error()})
		}
	}
	rest := o.newRest()
	for i := range m.Files {
		f := &m.Files[i]
		err := o.examineFile(ctx, f, dir)
		if err == nil && len(f.Groups) == 0 && f.Rows > 0 {
			err = contentError{errors.New("the manifest does not describe its row groups")}
		}
		if isAbsent(err) {
			report(f.Name, err)
		} else if err != nil {
			return nil, err
		}
		for g := range f.Groups {
			s := archiveStream{files: o, manifest: m, dir: dir, file: i, group: g}
			err := s.decode(ctx, f)
			if isAbsent(err) {
				report(f.Name, err)
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, b := range s.blocks {
				if err := each(b); err != nil {
					return nil, err
				}
				rest()
			}
		}
	}
	return damaged, nil
}

// acceptReadable copies the readable readings of the chosen archive into another archive of the table, and
// records it. The damaged files stay. If the table had no record, acceptReadable removes the record of a
// failed copy.
func (a Acceptor) acceptReadable(ctx context.Context, p *Acceptance) (Record, error) {
	r, err := a.copyReadable(ctx, p)
	if err != nil && p.Record.State == "" && r.version > 0 {
		err = errors.Join(err, a.withdraw(ctx, r))
	}
	return r, err
}

// withdraw removes the record that a failed copy has created, and the files of its attempt unless a
// manifest names the attempt. A record of an unfinished archive would block erasures.
func (a Acceptor) withdraw(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime) // a lost lease ends the given context
	defer cancel()
	now, found, err := a.catalog.Get(ctx, r.Table)
	if err != nil || !found || now.State != Writing || now.version != r.version {
		return err
	}
	if _, r.Generation, err = a.namedAttempts(ctx, &r); err == nil {
		err = a.deleteLeftovers(ctx, &r)
	}
	if err != nil {
		return err
	}
	return a.catalog.delete(ctx, &r)
}

// copyReadable copies the readable readings. After a failure, it returns the last record that it has written.
func (a Acceptor) copyReadable(ctx context.Context, p *Acceptance) (Record, error) {
	attempt, err := newAttempt()
	if err != nil {
		return p.Record, err
	}
	next := p.Record
	if next.State == "" {
		next.State = Writing
	}
	before := next.Attempts
	next.Attempts = append(slices.Clone(before), attempt)
	if err := a.catalog.put(ctx, &next); err != nil { // the record names the attempt before its first file is written
		return p.Record, err
	}
	m, err := a.writeReadable(ctx, p, next.place(attempt))
	if err != nil {
		return next, err
	}
	done := next
	if _, done.Generation, err = a.namedAttempts(ctx, &next); err != nil { // the new manifest gets the highest number
		return next, err
	}
	body, err := a.putNextManifest(ctx, &done, m)
	if err == nil {
		err = a.files.verify(ctx, m, done.Dir)
	}
	if err != nil {
		return next, err
	}
	if err := a.protectPointed(ctx, p, ""); err != nil {
		return next, err
	}
	if p.chosen.merged {
		if err := a.registerMerged(ctx, p.chosen.dir, p.chosen.manifest, true); err != nil {
			return next, err
		}
	}
	a.describe(&done, p, m, objectstore.SumOf(body))
	done.Attempts, done.Merged, done.Single = before, "", false
	if err := a.recheckHold(ctx, p); err != nil {
		return next, err
	}
	if err := a.catalog.put(ctx, &done); err != nil {
		return next, err
	}
	if p.chosen.merged { // the merged archive is no longer kept for the table
		return done, a.registerMerged(ctx, p.chosen.dir, p.chosen.manifest, true)
	}
	return done, nil
}

// writeReadable writes the files of a copy, without the manifest.
func (a Acceptor) writeReadable(ctx context.Context, p *Acceptance, at place) (*Manifest, error) {
	t := p.Record.Table
	for _, e := range p.chosen.manifest.Replaces {
		if e.Table == t.Name() {
			at.replaces = append(at.replaces, e)
		}
	}
	m, err := a.writeFrom(ctx, at, func(to tablescan.Sink) error {
		_, err := a.files.eachReadable(ctx, p.chosen.manifest, p.chosen.dir, func(b *block.Block) error {
			from, end := rowsIn(b, t.Window())
			if from == end {
				return nil
			}
			return to.Part(&block.Part{Block: b, From: from, To: end})
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if m.Readings != p.Readings || m.Digest != p.digest {
		return nil, errUnstable
	}
	return m, nil
}

// checkRange returns the error of a failed read of a range. It is a contentError if the object ends
// before the range does.
func (o *files) checkRange(ctx context.Context, key string, at *RangeEntry, failed error) error {
	stored, err := o.objects.Stat(ctx, key)
	if err == nil && stored.Size < at.end() {
		return contentError{fmt.Errorf("%s has %d bytes, want at least %d", key, stored.Size, at.end())}
	}
	return errors.Join(fmt.Errorf("read %s: %w", key, failed), err)
}
