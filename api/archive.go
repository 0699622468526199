package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// Archive has the functions that archive and restore tables. If Archiver is nil, tables are not
// archived.
type Archive struct {
	Archiver *archive.Archiver
	// Streams are the streams whose queries read archives by default.
	Streams map[string]bool
	// Now archives the given tables immediately. They must exist and be sealed or retired.
	Now func(context.Context, []grid.Table) ([]archive.Record, error)
	// PlanAcceptance compares the record of a table's archive with the stored archive.
	PlanAcceptance func(context.Context, grid.Table) (*archive.Acceptance, error)
	// Accept makes the record of a table describe its stored archive. The digest is Acceptance.Digest of a
	// plan. Accept fails if this plan has changed since then.
	Accept func(ctx context.Context, t grid.Table, digest string) (archive.Record, error)
	// Restore restores a dropped table from its archive.
	Restore func(context.Context, grid.Table) error
}

// addTo adds the time of archiving to the description of a table. The arguments "at" and "why" are parts
// of this description. If the record of the archive cannot be read, addTo changes neither, because the
// description is useful without this time.
func (a *Archive) addTo(ctx context.Context, t grid.Table, at **time.Time, why *string) {
	if a.Archiver == nil {
		return
	}
	if r, found, err := a.Archiver.Catalog().Get(ctx, t); err == nil && found {
		describeArchive(&r, at, why)
	}
}

// addAll adds the times of archiving to the descriptions of several tables, as addTo does for one.
// Unlike addTo, it returns errors.
func (a *Archive) addAll(ctx context.Context, tables []wire.TableInfo) error {
	if a.Archiver == nil {
		return nil
	}
	records, err := a.Archiver.Catalog().List(ctx)
	if err != nil {
		return err
	}
	byName := map[string]*archive.Record{}
	for i := range records {
		byName[records[i].Table.Name()] = &records[i]
	}
	for i := range tables {
		if r := byName[tables[i].Name]; r != nil {
			describeArchive(r, &tables[i].Archived, &tables[i].Why)
		}
	}
	return nil
}

func describeArchive(r *archive.Record, at **time.Time, why *string) {
	if r.State == archive.Archived && r.At.IsZero() {
		*why += "; its archive was accepted, and not compared with the table since"
	} else if r.State == archive.Archived {
		*at = orNull(r.At)
		*why += "; archived on " + r.At.UTC().Format(time.DateOnly)
	}
}

type archiveHandler struct {
	*responder
	Archive
	rotator *rotator.Rotator
}

func (h *archiveHandler) addRoutes(o *operations) {
	op := func(id, method, path, summary, description string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: description, Tags: []string{"archives"}}
	}
	const one = "/v1/archives/{name}"
	huma.Register(o.api, op("list-archives", http.MethodGet, "/v1/archives", "The archives of tables",
		"Readings, size, time and state of each archive. Existing tables have one only after they were retired, or were archived by hand."), h.list)
	huma.Register(o.api, op("archive-table", http.MethodPost, one, "Archive a table now",
		"Answers after the files were written, read back and recounted. 409 if readings may still be written to the table. If the archive exists and is whole, nothing is written. 503 while another job writes, merges or deletes archives."), h.archiveTable)
	verify := op("verify-archive", http.MethodPost, one+"/verify", "Verify an archive",
		"Reads all files, decodes and counts every reading, and compares the digests of each series and day. 503 if a file is missing or has changed; the message names it. The answer lists unrecorded files in both cases, and none is deleted.")
	verify.Responses = verifyResponses(o)
	huma.Register(o.api, verify, h.verify)
	h.addAcceptance(o)
	huma.Register(o.api, op("restore-archive", http.MethodPost, one+"/restore", "Restore a dropped table from its archive",
		"Writes the readings into a new table with their original arrivals, and puts the table on hold. 409 if the table exists, 503 while another job writes, merges or deletes archives. Expired readings stay excluded from queries without archive=true."), h.restore)
	huma.Register(o.api, op("hold-archive", http.MethodPut, one+"/hold", "Put an archive on hold",
		"For as long as it is on hold, the archive is not deleted after archive.retention. 409 if it is being deleted."), h.hold)
	huma.Register(o.api, op("release-archive", http.MethodDelete, one+"/hold", "Release the hold on an archive",
		"The archive is deleted once its retention has passed and its table is dropped."), h.release)
}

func errNoArchive() error {
	return varve.Errorf(varve.Conflict, "no archive is configured: set archive.kind")
}

func (h *archiveHandler) list(ctx context.Context, _ *struct{}) (*reply[wire.ArchiveList], error) {
	body := wire.ArchiveList{Archives: []wire.ArchiveInfo{}}
	if h.Archiver == nil {
		return &reply[wire.ArchiveList]{body}, nil
	}
	body.Location = h.Archiver.Objects().Location()
	records, err := h.Archiver.Catalog().List(ctx)
	if err != nil {
		return nil, h.problem(err)
	}
	infos, err := h.rotator.Tables(ctx)
	if err != nil {
		return nil, h.problem(err)
	}
	for i := range records {
		body.Archives = append(body.Archives, archiveInfo(&records[i], infos))
	}
	return &reply[wire.ArchiveList]{body}, nil
}

func archiveInfo(r *archive.Record, infos []store.Info) wire.ArchiveInfo {
	w := r.Table.Window()
	body := wire.ArchiveInfo{
		Table: r.Table.Name(), Class: r.Class, From: w.From, To: w.To, WriteMonth: r.Table.Month.String(), State: string(r.State),
		Hold: r.Hold, Readings: r.Readings, Series: r.Series, Bytes: r.Bytes, Files: r.Files, At: orNull(r.At), Digest: r.Digest, Directory: r.Dir, Merged: archive.NameOfMerged(r.Merged),
	}
	if r.State == archive.Archived {
		body.Manifest = r.ManifestKey()
	}
	for i := range infos {
		body.Exists = body.Exists || infos[i].Table == r.Table
	}
	return body
}

func (h *archiveHandler) find(ctx context.Context, name string) (*archive.Record, error) {
	if h.Archiver == nil {
		return nil, errNoArchive()
	}
	t, ok := grid.Parse(name)
	if !ok {
		return nil, varve.Errorf(varve.NotFound, "%q is not the name of a table", name)
	}
	r, found, err := h.Archiver.Catalog().Get(ctx, t)
	if err == nil && !found {
		err = varve.Errorf(varve.NotFound, "table %s has no archive", name)
	}
	return &r, err
}

func (h *archiveHandler) answer(ctx context.Context, r *archive.Record) (*reply[wire.ArchiveInfo], error) {
	infos, err := h.rotator.Tables(ctx)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.ArchiveInfo]{archiveInfo(r, infos)}, nil
}

func (h *archiveHandler) archiveTable(ctx context.Context, in *byName) (*reply[wire.ArchiveInfo], error) {
	if h.Archiver == nil {
		return nil, h.problem(errNoArchive())
	}
	t, ok := grid.Parse(in.Name)
	if !ok {
		return nil, h.problem(varve.Errorf(varve.NotFound, "%q is not the name of a table", in.Name))
	}
	records, err := h.Now(ctx, []grid.Table{t})
	if err != nil {
		return nil, h.problem(archiveProblem(err))
	}
	return h.answer(ctx, &records[0])
}

func (h *archiveHandler) verify(ctx context.Context, in *byName) (*reply[wire.ArchiveInfo], error) {
	r, err := h.find(ctx, in.Name)
	if err != nil {
		return nil, h.problem(err)
	}
	failed := archiveProblem(h.Archiver.Verify(ctx, r))
	unrecorded, err := archive.ListUnrecorded(ctx, h.Archiver, r)
	switch {
	case err != nil && failed != nil:
		failed = &varve.Error{Failure: varve.FailureOf(failed), Message: errors.Join(failed, err).Error()}
	case err != nil:
		failed = archiveProblem(err)
	}
	files := unrecordedFiles(unrecorded)
	if failed != nil {
		return nil, h.verifyFailed(failed, files)
	}
	body, err := h.answer(ctx, r)
	if err == nil {
		body.Body.Unrecorded = files
	}
	return body, err
}

func (h *archiveHandler) restore(ctx context.Context, in *byName) (*reply[wire.ArchiveInfo], error) {
	r, err := h.find(ctx, in.Name)
	if err == nil {
		err = archiveProblem(h.Restore(ctx, r.Table))
	}
	if err != nil {
		return nil, h.problem(err)
	}
	return h.answer(ctx, r)
}

// archiveProblem returns a varve.Error unchanged, and any other error as Unavailable with its whole text.
// So the client sees errors of the object store. They are safe to show, because only operators may use
// the routes of archives.
func archiveProblem(err error) error {
	if failed := (*varve.Error)(nil); err == nil || errors.As(err, &failed) {
		return err
	}
	return &varve.Error{Failure: varve.Unavailable, Message: err.Error()}
}

func (h *archiveHandler) hold(ctx context.Context, in *holding) (*reply[wire.ArchiveInfo], error) {
	if err := checkReason(in.Body.Reason); err != nil {
		return nil, err
	}
	return h.changeHold(ctx, in.Name, in.Body.Reason)
}

func (h *archiveHandler) release(ctx context.Context, in *byName) (*reply[wire.ArchiveInfo], error) {
	return h.changeHold(ctx, in.Name, "")
}

func (h *archiveHandler) changeHold(ctx context.Context, name, reason string) (*reply[wire.ArchiveInfo], error) {
	r, err := h.find(ctx, name)
	if err == nil {
		*r, err = h.Archiver.Catalog().Hold(ctx, r.Table, reason)
	}
	if err != nil {
		return nil, h.problem(err)
	}
	return h.answer(ctx, r)
}
