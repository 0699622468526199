package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/store/local/journal"
)

// CheckFolder reads the journal, Pebble's files, CATALOG and DAMAGE of a data folder, and reports damage.
//
// No process may have the folder open. CheckFolder changes nothing. The rate is in bytes per second; 0
// means no limit. CheckFolder also reports earlier losses that are not accepted yet.
func CheckFolder(ctx context.Context, dir string, rate int64, report func(Problem)) error {
	return checkFolder(ctx, dir, rate, false, report)
}

// CheckFolderQuickly checks a data folder without reading the data in the files of Pebble.
//
// It checks the journal, CATALOG and DAMAGE, and the size, footer and index of each file of Pebble. It
// changes nothing, and does not report recorded damage; see [ReadRecorded].
func CheckFolderQuickly(ctx context.Context, dir string, report func(Problem)) error {
	return checkFolder(ctx, dir, 0, true, report)
}

func checkFolder(ctx context.Context, dir string, rate int64, quick bool, report func(Problem)) error {
	f, err := Examine(dir)
	switch {
	case f.Held != nil:
		return f.Held
	case isDamage(err):
		report(Problem{File: dir, Err: err})
	case err != nil:
		return err
	case !f.There:
		return fmt.Errorf("data folder %s: does not exist", f.Dir)
	}
	in := &folder{fs: vfs.Default, dir: f.Dir}
	if in.bare() {
		return fmt.Errorf("data folder %s: holds no store: name another folder", f.Dir)
	}
	if err := checkJournal(in, report); err != nil {
		return err
	}
	if missing, err := in.missing("pebble"); err != nil || missing {
		return errors.Join(err, checkPairs(in, report)) // Examine has reported the missing folder
	}
	if err := checkPebble(ctx, f.Dir, rate, quick, report); err != nil {
		return err
	}
	return checkPairs(in, report)
}

func (f *folder) missing(name string) (bool, error) {
	_, err := f.fs.Stat(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// bare reports whether the folder contains no part of a store.
func (f *folder) bare() bool {
	for _, name := range []string{"VARVE", "journal", "pebble"} {
		if missing, err := f.missing(name); err != nil || !missing {
			return false
		}
	}
	return true
}

// checkJournal reports damage to the journal. It ignores torn ends without whole frames, because a
// crash can leave such an end.
func checkJournal(f *folder, report func(Problem)) error {
	if _, err := f.fs.Stat(f.path("journal")); err != nil {
		return nil //nolint:nilerr // Examine has reported the missing folder
	}
	rep, err := journal.Check(f.fs, f.path("journal"))
	if err != nil && !isDamage(err) {
		return fmt.Errorf("data folder %s: %w", f.dir, plain(err))
	}
	for _, p := range rep.Problems {
		report(Problem{File: f.path("journal", p.File), Err: errors.New(p.String())})
	}
	for _, p := range rep.Notes {
		report(Problem{File: f.path("journal", p.File), Err: errors.New(p.String()), Harmless: true})
	}
	for _, t := range rep.Torn {
		if t.Frames > 0 {
			report(Problem{File: f.path("journal", t.File), Err: errors.New(t.String())})
		}
	}
	return nil
}

// checkPairs reports damaged copies of CATALOG and DAMAGE, and a copy that is missing while the other
// copy exists.
func checkPairs(f *folder, report func(Problem)) error {
	for _, name := range []string{catalogFile, lostFile} {
		missing := 0
		_, _, none := f.readPair(name)
		for _, copied := range []string{name, copyOf(name)} {
			_, _, err := f.readCopy(copied, name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				missing++
			case err != nil:
				report(Problem{File: f.path(copied), Err: err, Harmless: none == nil})
			}
		}
		if missing == 1 {
			report(Problem{File: f.path(name), Err: errors.New("one of its two copies is missing"), Harmless: none == nil})
		}
	}
	return nil
}
