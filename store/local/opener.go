package local

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store/local/journal"
)

// When Pebble opens for writing, it deletes the files that its MANIFEST does not name. A damaged
// MANIFEST appears to end early, so files with data would be deleted. Therefore the folder is
// opened in this order:
//
//  1. folder.begin completes an interrupted rebuild.
//  2. inspect opens Pebble read-only, and compares it with the existing files and with the journal's
//     chain, which lists the segments that must exist. If the MANIFEST is damaged, Pebble is rebuilt
//     from all files. If Pebble then lacks segments that the journal has removed, Open fails or, with
//     Salvage, records a loss.
//  3. openPebble opens it for writing.
//  4. The recovery applies the changes in the journal, sets damaged files aside, compares the
//     catalog with its copy, and replays the readings.

// errRebuild is the reason for a rebuild of Pebble.
type errRebuild struct {
	reason error
	lost   []lost // key ranges that are lost already, in addition to losses that the rebuild finds
}

func (e *errRebuild) Error() string { return e.reason.Error() }

// opener opens Pebble, and rebuilds it if its list of files is damaged.
type opener struct {
	db      *database
	report  *damageReport
	emptied bool // whether the database of Pebble was missing and is recreated
}

func (o *opener) open() error {
	o.db.options = pebbleOptions(o.db.opts, o.db.watcher)
	if o.db.folder.state == folderNew {
		return o.openPebble()
	}
	chain, err := o.readChain()
	if err != nil {
		return err
	}
	unfit, err := o.inspect(chain)
	var damage *errRebuild
	if errors.As(err, &damage) {
		if err := o.rebuild(chain, damage); err != nil {
			return fmt.Errorf("rebuild after %w: %w", damage.reason, err)
		}
		unfit, err = o.inspect(chain)
	}
	if err != nil {
		return err
	}
	for number, reason := range unfit {
		if err := o.db.folder.replaceByEmpty(number); err != nil {
			return err
		}
		o.db.watcher.addFile(number, o.db.folder.path("pebble", fileName(number)), reason)
	}
	return o.openPebble()
}

// readChain returns the segments that the journal must have. Format 1 has no chain, so the oldest
// existing segment is the first one. If the chain of format 2 is lost, Pebble is accepted at any age.
func (o *opener) readChain() (c journal.Chain, err error) {
	c, _, problems, err := journal.ReadChain(o.db.opts.FS, o.db.folder.path("journal"))
	if err != nil || len(problems) == 0 {
		return c, err
	}
	if c.First, err = o.db.folder.oldestSegment(); o.db.folder.state != folderFormat1 {
		c.First = 0 // Replay reports the problems of the journal
	}
	c.Last = math.MaxUint64
	return c, err
}

// inspect opens the database read-only. It returns the files that are missing or have a wrong size. It
// fails with an errRebuild if the list of files is missing, damaged or out of date.
func (o *opener) inspect(chain journal.Chain) (unfit map[uint64]error, err error) {
	listing, err := o.db.folder.listFiles()
	if err != nil {
		return nil, err
	}
	if listing.manifest == "" {
		if len(listing.tables) > 0 {
			return nil, &errRebuild{reason: errors.New("the marker of the MANIFEST is missing")}
		}
		return nil, o.startEmpty()
	}
	db, err := o.openReadOnly(listing)
	if err != nil {
		return nil, err
	}
	unfit, named := o.compare(db, listing)
	gone, outdated := o.outdated(db, listing)
	flushed, flushedErr := flushedSegment(db)
	if err := db.Close(); err != nil && !isDamage(err) {
		return nil, err
	}
	whole, err := o.db.folder.manifestWhole(listing.manifest)
	if err != nil {
		return nil, err
	}
	if !whole && (len(unfit) > 0 || named < len(listing.tables)) {
		return nil, &errRebuild{reason: fmt.Errorf("%s is damaged, and files exist that it does not name", listing.manifest)}
	}
	if outdated {
		return nil, &errRebuild{fmt.Errorf("%s names files that are missing, and newer files exist that it does not name", listing.manifest), gone}
	}
	if isDamage(flushedErr) || o.db.ledger.findKey(keyFlushed) != nil {
		return unfit, nil // the flushed segment is unknown, so the age of Pebble is not checked
	}
	if flushedErr != nil {
		return nil, flushedErr
	}
	return unfit, o.checkAge(chain, flushed, named < len(listing.tables))
}

// checkAge returns an error if Pebble and the journal do not fit together. The error is an
// errRebuild if Pebble is older than the journal and files exist that the MANIFEST does not name. With
// Salvage, no other error is returned.
func (o *opener) checkAge(chain journal.Chain, flushed uint64, unnamed bool) error {
	p := chain.Lost(flushed)
	if p == nil {
		return nil
	}
	if chain.First > flushed+1 && unnamed {
		return &errRebuild{reason: errors.New("pebble " + p.Text)}
	}
	if !o.db.opts.Salvage {
		return o.db.folder.damaged(p.String())
	}
	o.lostSegments(chain, flushed)
	return nil
}

// lostSegments records a loss if segments are neither in Pebble nor in the journal.
func (o *opener) lostSegments(chain journal.Chain, flushed uint64) {
	if chain.First <= flushed+1 {
		return
	}
	o.db.folder.losses = append(o.db.folder.losses, Loss{
		Items: true, Journal: true, Segment: flushed + 1, File: "pebble",
		Reason: fmt.Sprintf("pebble is older than the journal: what segments %d to %d held is lost", flushed+1, chain.First-1),
	})
}

// startEmpty handles an empty folder of Pebble. With Salvage, it records that all data in Pebble is
// lost. Otherwise it fails.
func (o *opener) startEmpty() error {
	reason := "pebble is empty: what was in it is lost"
	if !o.db.opts.Salvage {
		return o.db.folder.damaged(reason + ": mount its disk, or restore a backup")
	}
	o.emptied = true
	all := lost{From: []byte{0}, To: []byte{0xff}, File: "pebble", Found: o.db.opts.Now().UTC(), Reason: reason, Rebuilt: true}
	return o.db.ledger.add([]lost{all})
}

// listing is the content of Pebble's folder.
type listing struct {
	manifest string           // name of the MANIFEST in the marker; empty if the marker is missing
	tables   map[uint64]int64 // sizes of Pebble's table files in bytes, by file number
	options  []string         // names of the OPTIONS files
}

// openReadOnly opens the database without changing it. If damage prevents that, it moves the
// OPTIONS files away, which Pebble recreates, and retries. A second failure is an errRebuild.
func (o *opener) openReadOnly(l listing) (*pebble.DB, error) {
	opts := o.db.options.Clone()
	opts.ReadOnly = true
	db, err := pebble.Open(o.db.folder.path("pebble"), opts)
	if err == nil || !mayBeDamage(err) {
		return db, err
	}
	first := err
	for _, name := range l.options {
		if err := o.db.folder.moveAside(o.db.folder.path("pebble", name), name); err != nil {
			return nil, err
		}
	}
	if len(l.options) > 0 {
		if db, err = pebble.Open(o.db.folder.path("pebble"), opts); err == nil {
			o.db.opts.Events.Damaged(o.db.folder.path("pebble", l.options[0]), first)
			o.db.opts.Events.SetAside(l.options[0], nil)
			return db, nil
		}
	}
	return nil, &errRebuild{reason: err}
}

// mayBeDamage reports whether damage may be the cause of a failure to open Pebble. A missing file may be
// damage. It returns false if the disk failed, if the format is newer than this version supports, or if
// Pebble could not replay its write-ahead log.
func mayBeDamage(err error) bool {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	text := err.Error()
	return !strings.Contains(text, "format major version") && !strings.Contains(text, "replaying WAL")
}

// compare compares the files that the database names with the existing files. It returns the files
// that are missing or have a wrong size, and the number of named files that exist.
func (o *opener) compare(db *pebble.DB, l listing) (unfit map[uint64]error, named int) {
	unfit = map[uint64]error{}
	seen := map[uint64]bool{}
	version := db.DebugCurrentVersion()
	for i := range version.Levels {
		for t := range version.Levels[i].All() {
			number, want := uint64(t.TableBacking.DiskFileNum), int64(t.TableBacking.Size)
			if seen[number] {
				continue
			}
			seen[number] = true
			switch size, ok := l.tables[number]; {
			case !ok:
				unfit[number] = errors.New("the file is missing")
			case size != want:
				unfit[number] = fmt.Errorf("the file has %d bytes, and %d were written", size, want)
				named++
			default:
				named++
			}
		}
	}
	return unfit, named
}

// outdated reports whether files are missing while files exist that are newer than all named ones.
// Pebble would delete the newer files. outdated also returns the chunk ranges of the missing files.
// Ranges of items are not needed, because all items may be out of date after a rebuild.
func (o *opener) outdated(db *pebble.DB, l listing) (gone []lost, outdated bool) {
	newest, missing := uint64(0), false
	for _, p := range storedParts(db) {
		newest = max(newest, p.number)
		if _, ok := l.tables[p.number]; !ok {
			missing = true
			l := lost{From: p.first, To: p.end, File: fileName(p.number), Found: o.db.opts.Now().UTC(), Reason: "the file is missing", Rebuilt: true}
			if l.From, l.To, ok = l.bounded(spaceChunk); ok {
				gone = append(gone, l)
			}
		}
	}
	for number := range l.tables {
		outdated = outdated || missing && number > newest
	}
	return gone, outdated
}
