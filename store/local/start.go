package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	log "github.com/cockroachdb/pebble/v2/record"
	"github.com/varvedb/varve/store/local/journal"
	"github.com/varvedb/varve/store/local/meta"
)

// Pebble deletes the files that its MANIFEST does not name when it opens for writing. A damaged
// MANIFEST appears to end early, so files with data would be deleted. Therefore the folder is
// opened in steps:
//
// 1. folder.begin completes an interrupted rebuild. 2. inspect opens Pebble read-only. It
// compares Pebble with the existing files and with the journal's chain. If the list of files is
// damaged, Pebble is rebuilt from all files. If it is still older than the chain, it is refused.
// 3. openPebble opens it for writing. 4. recover applies the changes in the journal, sets unfit
// files aside, compares the catalog with its copy, and replays the readings.

// errRebuild is the reason for a rebuild of Pebble.
type errRebuild struct {
	reason error
	lost   []lost // further lost ranges
}

func (e *errRebuild) Error() string { return e.reason.Error() }

// openDatabase opens Pebble, also if parts of it are damaged.
func (s *Store) openDatabase() error {
	s.pebble = pebbleOptions(s.opts, s.watcher)
	if s.folder.state == folderNew {
		return s.openPebble()
	}
	chain, err := s.readChain()
	if err != nil {
		return err
	}
	unfit, err := s.inspect(chain)
	var damage *errRebuild
	if errors.As(err, &damage) {
		if err := s.rebuild(chain, damage); err != nil {
			return fmt.Errorf("rebuild after %w: %w", damage.reason, err)
		}
		unfit, err = s.inspect(chain)
	}
	if err != nil {
		return err
	}
	for number, reason := range unfit {
		if err := s.makePlace(number); err != nil {
			return err
		}
		s.watcher.addFile(number, s.folder.path("pebble", fileName(number)), reason)
	}
	return s.openPebble()
}

// readChain returns the segments that the journal must have. In format 1, which has no chain, it
// begins with the first existing segment. Without any chain, every Pebble fits.
func (s *Store) readChain() (c journal.Chain, err error) {
	c, _, problems, err := journal.ReadChain(s.opts.FS, s.folder.path("journal"))
	if err != nil || len(problems) == 0 {
		return c, err
	}
	if c.First, err = s.oldestSegment(); s.folder.state != folderFormat1 {
		c.First = 0 // Replay reports the problems
	}
	c.Last = math.MaxUint64
	return c, err
}

// makePlace replaces a missing or unfit file by an empty one. Pebble knows only files that exist
// when it opens, and would merge a foreign file. An empty file is handled as damaged.
func (s *Store) makePlace(number uint64) error {
	path := s.folder.path("pebble", fileName(number))
	if err := s.folder.moveAside(path, fileName(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := s.folder.fs.Create(path, "varve-store")
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close(), meta.SyncFolder(s.folder.fs, s.folder.path("pebble")))
}

// inspect opens the database read-only. It returns the files that are missing or have another
// size, and an errRebuild if the list of files is damaged.
func (s *Store) inspect(chain journal.Chain) (unfit map[uint64]error, err error) {
	listing, err := s.listFiles()
	if err != nil {
		return nil, err
	}
	if listing.manifest == "" {
		if len(listing.tables) > 0 {
			return nil, &errRebuild{reason: errors.New("the marker of the MANIFEST is missing")}
		}
		return nil, s.startEmpty()
	}
	db, err := s.openReadOnly(listing)
	if err != nil {
		return nil, err
	}
	unfit, named := s.compare(db, listing)
	gone, outdated := s.outdated(db, listing)
	flushed, flushedErr := flushedSegment(db)
	if err := db.Close(); err != nil && !isDamage(err) {
		return nil, err
	}
	whole, err := s.manifestWhole(listing.manifest)
	if err != nil {
		return nil, err
	}
	if !whole && (len(unfit) > 0 || named < len(listing.tables)) {
		return nil, &errRebuild{reason: fmt.Errorf("%s is damaged, and files exist that it does not name", listing.manifest)}
	}
	if outdated {
		return nil, &errRebuild{fmt.Errorf("%s names files that are missing, and newer files exist that it does not name", listing.manifest), gone}
	}
	if isDamage(flushedErr) || s.ledger.findKey(keyFlushed) != nil {
		return unfit, nil // the catalog is lost, too
	}
	if flushedErr != nil {
		return nil, flushedErr
	}
	return unfit, s.checkAge(chain, flushed, named < len(listing.tables))
}

// checkAge returns an error if Pebble and the journal do not fit together. It is an errRebuild
// if files exist that the MANIFEST does not name.
func (s *Store) checkAge(chain journal.Chain, flushed uint64, unnamed bool) error {
	p := chain.Lost(flushed)
	if p == nil {
		return nil
	}
	if chain.First > flushed+1 && unnamed {
		return &errRebuild{reason: errors.New("pebble " + p.Text)}
	}
	if !s.opts.Salvage {
		return s.folder.damaged(p.String())
	}
	s.lostSegments(chain, flushed)
	return nil
}

// lostSegments reports a loss if segments are neither in Pebble nor in the journal.
func (s *Store) lostSegments(chain journal.Chain, flushed uint64) {
	if chain.First <= flushed+1 {
		return
	}
	s.folder.losses = append(s.folder.losses, Loss{
		Items: true, Journal: true, Segment: flushed + 1, File: "pebble",
		Reason: fmt.Sprintf("pebble is older than the journal: what segments %d to %d held is lost", flushed+1, chain.First-1),
	})
}

// startEmpty opens a store without its Pebble as an empty one. All data in Pebble is lost.
func (s *Store) startEmpty() error {
	reason := "pebble is empty: what was in it is lost"
	if !s.opts.Salvage {
		return s.folder.damaged(reason + ": mount its disk, or restore a backup")
	}
	s.emptied = true
	all := lost{From: []byte{0}, To: []byte{0xff}, File: "pebble", Found: s.opts.Now().UTC(), Reason: reason, Rebuilt: true}
	return s.ledger.add([]lost{all})
}

// listing is the content of Pebble's folder.
type listing struct {
	manifest string           // named by the marker; empty if the marker is missing
	tables   map[uint64]int64 // sizes of files, by number
	options  []string
}

func (s *Store) listFiles() (l listing, err error) {
	names, err := s.folder.fs.List(s.folder.path("pebble"))
	if err != nil {
		return l, err
	}
	l.tables = map[uint64]int64{}
	marked := uint64(0)
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, "marker.manifest."); ok {
			count, manifest, _ := strings.Cut(rest, ".")
			if n, err := strconv.ParseUint(count, 10, 64); err == nil && n >= marked {
				marked, l.manifest = n, manifest
			}
		}
		if strings.HasPrefix(name, "OPTIONS-") {
			l.options = append(l.options, name)
		}
		if number, ok := fileNumber(name); ok {
			info, err := s.folder.fs.Stat(s.folder.path("pebble", name))
			if err != nil {
				return l, err
			}
			l.tables[number] = info.Size()
		}
	}
	return l, nil
}

// openReadOnly opens the database without changing it. If damage prevents that, it moves the
// OPTIONS files away, which Pebble recreates, and retries. A second failure is an errRebuild.
func (s *Store) openReadOnly(l listing) (*pebble.DB, error) {
	opts := s.pebble.Clone()
	opts.ReadOnly = true
	db, err := pebble.Open(s.folder.path("pebble"), opts)
	if err == nil || !mayBeDamage(err) {
		return db, err
	}
	first := err
	for _, name := range l.options {
		if err := s.folder.moveAside(s.folder.path("pebble", name), name); err != nil {
			return nil, err
		}
	}
	if len(l.options) > 0 {
		if db, err = pebble.Open(s.folder.path("pebble"), opts); err == nil {
			s.opts.Events.Damaged(s.folder.path("pebble", l.options[0]), first)
			s.opts.Events.SetAside(l.options[0], nil)
			return db, nil
		}
	}
	return nil, &errRebuild{reason: err}
}

// mayBeDamage reports whether a failure to open may be caused by damage. Failures of the disk,
// of a newer format and of a log are excluded.
func mayBeDamage(err error) bool {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	text := err.Error()
	return !strings.Contains(text, "format major version") && !strings.Contains(text, "replaying WAL")
}

// compare compares the files that the database names with the existing files. It returns the
// unfit files, and the number of fitting ones.
func (s *Store) compare(db *pebble.DB, l listing) (unfit map[uint64]error, named int) {
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

// outdated reports whether files are missing while files exist that are newer than all named
// ones. Pebble would delete the newer files. It returns the chunk ranges of the missing files.
// Items may be out of date after a rebuild in any case.
func (s *Store) outdated(db *pebble.DB, l listing) (gone []lost, outdated bool) {
	newest, missing := uint64(0), false
	for _, p := range storedParts(db) {
		newest = max(newest, p.number)
		if _, ok := l.tables[p.number]; !ok {
			missing = true
			l := lost{From: p.first, To: p.end, File: fileName(p.number), Found: s.opts.Now().UTC(), Reason: "the file is missing", Rebuilt: true}
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

// manifestWhole reports whether a MANIFEST can be read to its end.
func (s *Store) manifestWhole(name string) (whole bool, err error) {
	file, err := s.folder.fs.Open(s.folder.path("pebble", name))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := log.NewReader(file, 0)
	for {
		in, err := r.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		if err != nil {
			return false, nil
		}
	}
}

// oldestSegment returns the number of the first segment of the journal, or 0 if it has none.
func (s *Store) oldestSegment() (oldest uint64, err error) {
	names, err := s.folder.fs.List(s.folder.path("journal"))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		stem, ok := strings.CutSuffix(name, ".journal")
		if n, err := strconv.ParseUint(stem, 10, 64); ok && err == nil && (oldest == 0 || n < oldest) {
			oldest = n
		}
	}
	return oldest, nil
}

// moveAside moves a file or folder into the folder of damaged files.
func (f *folder) moveAside(path, name string) error {
	if err := f.fs.MkdirAll(f.path(asideDir), 0o755); err != nil {
		return err
	}
	to := f.path(asideDir, fmt.Sprintf("%s-%d", name, f.now().UnixNano()))
	if err := f.fs.Rename(path, to); err != nil {
		return err
	}
	return errors.Join(meta.SyncFolder(f.fs, f.path(asideDir)), meta.SyncFolder(f.fs, f.fs.PathDir(path)))
}
