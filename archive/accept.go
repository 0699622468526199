package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
)

// MaxMissing is the maximum length of Missing.List. The counts of a Missing also include days beyond the list.
const MaxMissing = 10_000

// Acceptance is a plan to change the record of a table so that it describes the stored archive.
type Acceptance struct {
	Record Record // present record; if the table has no record, the state is empty
	// Whole means that the archive equals the record already. No change is needed then.
	Whole bool

	Manifest string // key of the manifest of the stored archive
	Merged   string // name of the merged archive, or ""
	Readings int64  // number of readings of the table in the new record
	Series   int64
	// Rewrite means that files are damaged. Accept then copies the readable readings into another archive.
	Rewrite bool
	Damaged []DamagedFile

	Erased int64 // number of readings of the present record that erasures have removed, as the stored manifest states
	// Unexplained is the number of readings by which the present record exceeds the stored archive, for
	// an unknown reason. Lost includes them if the series and days are known.
	Unexplained int64
	Added       int64 // number of readings by which the stored archive exceeds the present record, for an unknown reason
	// Lost counts readings of the expected digests that the new record will lack. Digests are expected from
	// the present record, from the chosen archive if its files are damaged, and from other archives. The
	// counts are a minimum, because archives may have different readings of a day.
	Lost Missing
	// Changed has the days that are not in Lost, but on which an expected digest differs. It counts the
	// readings of that digest.
	Changed Missing
	// DaysUnknown means that readings may be missing, and that the digests with their series and days are lost.
	DaysUnknown bool
	// Others has the other stored archives that could be accepted, and those whose manifest cannot be read. It
	// excludes archives with the same readings as the chosen one.
	Others []OtherArchive

	Exists    bool    // whether the table still exists
	TableHold string  // reason of the hold on the table; "" means no hold
	InTable   Missing // readings that only the table has; not counted if Rewrite is set

	chosen  candidate
	differs bool   // an archive is recorded, and the chosen one differs for a reason other than an erasure
	digest  string // digest of all readings that the record will have
}

// OtherArchive is a stored archive of a table that a plan does not accept.
type OtherArchive struct {
	Manifest string // key of the manifest
	Readings int64
	Series   int64
	Problem  string // reason why the archive cannot be compared; "" if it was compared
}

// DamagedFile is a file of a stored archive that is missing or damaged.
type DamagedFile struct{ Name, Problem string }

// Missing counts readings by series and day.
type Missing struct {
	Readings int64
	Series   int64
	Days     int64                   // number of pairs of series and day
	List     []parquetfile.DayDigest // the first MaxMissing pairs, without digests

	last varve.Series
	sum  hash.Hash // hash of all pairs, also of pairs that List lacks; nil without a pair
}

func (m *Missing) add(s varve.Series, day int32, readings int64) {
	if m.Series == 0 || s != m.last {
		m.Series++
		m.last = s
	}
	if m.sum == nil {
		m.sum = sha256.New()
	}
	fmt.Fprintf(m.sum, "%q %d %d\n", []string{s.Tenant, s.Stream, s.Device}, day, readings) // writing to a hash never fails
	m.Readings += readings
	m.Days++
	if len(m.List) < MaxMissing {
		m.List = append(m.List, parquetfile.DayDigest{Series: s, Day: day, Readings: readings})
	}
}

// Loses reports whether the record will or may lack readings that no erasure has removed.
func (p *Acceptance) Loses() bool {
	return p.Unexplained > 0 || p.Erased < 0 || p.Lost.Days > 0 || p.Changed.Days > 0 || p.DaysUnknown ||
		slices.ContainsFunc(p.Others, func(o OtherArchive) bool { return o.Problem != "" })
}

// Hold returns the reason of a hold on the archive or the table, or an empty text. The hold of a restored
// table does not count, because an acceptance changes nothing in the table.
func (p *Acceptance) Hold() string {
	if p.Record.Hold == "" && p.TableHold != RestoredHold {
		return p.TableHold
	}
	return p.Record.Hold
}

// Digest returns a text that identifies the record, the stored archive, and all counts and problems of a plan.
func (p *Acceptance) Digest() string {
	h := sha256.New()
	r := &p.Record
	fmt.Fprintln(h, r.Table, r.State, r.ManifestKey(), r.Manifest, r.Readings, r.Series, r.Digest, p.Hold(), p.Exists, p.Whole) // writing to a hash never fails
	fmt.Fprintln(h, p.Manifest, p.Merged, p.chosen.sum, p.Readings, p.Series, p.digest, p.Rewrite, p.Erased, p.Unexplained, p.Added, p.DaysUnknown)
	for _, f := range p.Damaged {
		fmt.Fprintf(h, "damaged %q %q\n", f.Name, f.Problem)
	}
	for _, o := range p.Others {
		fmt.Fprintf(h, "other %q %d %d %q\n", o.Manifest, o.Readings, o.Series, o.Problem)
	}
	p.Lost.addTo(h)
	p.Changed.addTo(h)
	p.InTable.addTo(h)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (m *Missing) addTo(h hash.Hash) {
	fmt.Fprintln(h, m.Readings, m.Series, m.Days)
	if m.sum != nil {
		h.Write(m.sum.Sum(nil))
	}
}

// Acceptor changes the records of tables so that they describe the stored archives.
type Acceptor struct {
	merger
	tables func(context.Context, grid.Table) (*store.Info, error)
}

// NewAcceptor returns an Acceptor of the archives of an Archiver.
func NewAcceptor(a *Archiver) Acceptor { return Acceptor{merger: merger{a}} }

// ReadTables returns an Acceptor that reads the hold of a table once more before the record is
// written. The function "tables" returns the description of a table, or nil if the table does not
// exist.
func (a Acceptor) ReadTables(tables func(context.Context, grid.Table) (*store.Info, error)) Acceptor {
	a.tables = tables
	return a
}

// Plan compares the record of a table with its stored archive, and changes nothing. The argument
// "in" describes the table, or is nil if the table does not exist.
//
// It fails with varve.NotFound if no stored manifest can be accepted, and with varve.Conflict while the
// archive is being deleted.
func (a Acceptor) Plan(ctx context.Context, t grid.Table, in *store.Info) (*Acceptance, error) {
	p, err := a.plan(ctx, t, in)
	if err != nil {
		return nil, acceptError(t, err)
	}
	return p, nil
}

func acceptError(t grid.Table, err error) error {
	if failed := (*varve.Error)(nil); errors.As(err, &failed) {
		return err
	}
	return fmt.Errorf("accept archive of %s: %w", t, err)
}

func (a Acceptor) plan(ctx context.Context, t grid.Table, in *store.Info) (*Acceptance, error) {
	r, found, err := a.catalog.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	if !found {
		class := a.opts.ClassOf(t)
		r = Record{Table: t, Class: class, Dir: Dir(a.opts.Prefix, class, t)}
	}
	p := &Acceptance{Record: r}
	if in != nil {
		p.Exists, p.TableHold = true, in.Hold
	}
	switch r.State {
	case Expiring:
		return nil, varve.Errorf(varve.Conflict, "the archive of table %s has expired and is being deleted", t)
	case Archived:
		err := a.Verify(ctx, &r)
		if err == nil {
			p.Whole, p.Manifest, p.Merged, p.Readings, p.Series, p.digest = true, r.ManifestKey(), NameOfMerged(r.Merged), r.Readings, r.Series, r.Digest
			return p, nil
		}
		if !isAbsent(err) {
			return nil, err
		}
	case Writing: // the record has no archive yet
	}
	if err := a.choose(ctx, p); err != nil || !p.Exists {
		return p, err
	}
	return p, a.compareLive(ctx, p)
}

// isAbsent reports whether an error means that stored content is missing or differs. After any other error,
// a retry may find the content.
func isAbsent(err error) bool { return isContent(err) || errors.Is(err, objectstore.ErrMissing) }

// choose sets the stored archive that the plan accepts: the latest whole one, or else the latest one. It also
// adds the differences from the record and from other archives to the plan.
func (a Acceptor) choose(ctx context.Context, p *Acceptance) error {
	list, unread, err := a.candidates(ctx, &p.Record)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return varve.Errorf(varve.NotFound, "table %s: no valid manifest of its archive is stored in %s below %s, or each one is older than its record", p.Record.Table, a.opts.Objects.Location(), monthDir(p.Record.Dir))
	}
	p.Others = unread
	chosen, rewrite := list[0], true
	for i := range list {
		err := a.files.verify(ctx, list[i].manifest, list[i].dir)
		if err == nil {
			chosen, rewrite = list[i], false
			break
		}
		if !isAbsent(err) {
			return err
		}
	}
	p.chosen, p.Manifest, p.Rewrite = chosen, chosen.key(), rewrite
	if chosen.merged {
		p.Merged = chosen.manifest.Table
	}
	want := chosen.entry
	if r := &p.Record; r.State == Archived && !want.equals(r.Readings, r.Digest) {
		if chosen.replaces(r) {
			p.Erased = r.Readings - want.Readings
		} else {
			p.differs = true
			p.Unexplained, p.Added = max(r.Readings-want.Readings, 0), max(want.Readings-r.Readings, 0)
		}
	}
	p.Readings, p.Series, p.digest = want.Readings, want.Series, want.Digest
	return a.compareArchives(ctx, p, slices.DeleteFunc(list, func(c candidate) bool { return c.entry.equals(want.Readings, want.Digest) }))
}

func (e *TableEntry) equals(readings int64, digest string) bool {
	return e.Readings == readings && e.Digest == digest
}

// Accept makes the record of a table describe its stored archive. The digest identifies the plan. If
// files of the archive are damaged, Accept copies the readable readings into another archive. It
// deletes nothing, and changes nothing in the table. A repeated call with the digest of the accepted
// plan succeeds.
//
// It fails with varve.Conflict if the plan has changed, or if the archive equals the record already. It also
// does so if the stored archive differs from the record while the archive or the table is on hold, or if an
// erasure seems to have added readings. The caller makes sure that no other job writes, merges or deletes
// archives.
func (a Acceptor) Accept(ctx context.Context, t grid.Table, in *store.Info, digest string) (Record, error) {
	r, err := a.accept(ctx, t, in, digest)
	if err != nil {
		return r, acceptError(t, err)
	}
	return r, nil
}

func (a Acceptor) accept(ctx context.Context, t grid.Table, in *store.Info, digest string) (Record, error) {
	r, found, err := a.catalog.Get(ctx, t)
	if err != nil {
		return r, err
	}
	if found && r.State == Archived && r.Accepted != "" && r.Accepted == digest {
		return r, a.registerPointed(ctx, &r)
	}
	p, err := a.plan(ctx, t, in)
	switch {
	case err != nil:
		return r, err
	case p.Whole:
		return r, varve.Errorf(varve.Conflict, "the archive of table %s equals its record: nothing to accept", t)
	case p.Digest() != digest:
		return r, varve.Errorf(varve.Conflict, "plan %s: the archive of table %s has changed since: request a new plan", digest, t)
	case p.Erased < 0:
		return r, varve.Errorf(varve.Conflict, "%s replaces the archive of table %s because of an erasure, and has more readings: archive the table again, or restore its record", p.Manifest, t)
	}
	if err := p.checkHold(); err != nil {
		return r, err
	}
	if p.Rewrite {
		return a.acceptReadable(ctx, p)
	}
	return a.acceptWhole(ctx, p)
}

// checkHold fails if the archive or the table is on hold, and the stored archive differs from the record.
func (p *Acceptance) checkHold() error {
	if p.Hold() == "" || !p.Loses() && p.Erased == 0 && p.Added == 0 {
		return nil
	}
	return varve.Errorf(varve.Conflict, "table %s or its archive is on hold (%s), and the stored archive differs: release the hold first", p.Record.Table, p.Hold())
}

// recheckHold reads the holds of the archive and of the table, and fails as checkHold does.
func (a Acceptor) recheckHold(ctx context.Context, p *Acceptance) error {
	r, _, err := a.catalog.Get(ctx, p.Record.Table)
	if err != nil {
		return err
	}
	now := *p
	now.Record.Hold = r.Hold
	if a.tables != nil {
		in, err := a.tables(ctx, p.Record.Table)
		if err != nil {
			return err
		}
		if now.TableHold = ""; in != nil {
			now.TableHold = in.Hold
		}
	}
	return now.checkHold()
}

// acceptedAt returns the time at which the record was last found equal to its table. If the record has no
// such time, acceptedAt returns the creation time of the manifest. While the table exists, it returns zero,
// so that the archive is compared with the table before a drop.
func (p *Acceptance) acceptedAt() time.Time {
	switch {
	case p.Exists:
		return time.Time{}
	case p.Record.At.IsZero():
		return p.chosen.manifest.Created
	default:
		return p.Record.At
	}
}
