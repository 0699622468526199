package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
)

func (h *archiveHandler) addAcceptance(o *operations) {
	const one = "/v1/archives/{name}"
	huma.Register(o.api, huma.Operation{
		OperationID: "plan-accept-archive", Method: http.MethodGet, Path: one + "/accept-plan", Tags: []string{"archives"},
		Summary: "Compare the stored archive of a table with its record",
		Description: "For a store that was restored from a backup, and for damaged archives. Reads all files of the stored archive. Changes nothing. " +
			"404 if no valid manifest is stored. If the table exists, the table is read, too.",
	}, h.planAcceptance)
	huma.Register(o.api, huma.Operation{
		OperationID: "accept-archive", Method: http.MethodPost, Path: one + "/accept", Tags: []string{"archives"},
		Summary: "Accept the stored archive of a table as its record",
		Description: "Carries out the plan with the given digest, and answers with the archive. Deletes nothing, and changes nothing in the table. " +
			"409 if the plan has changed, or if the stored archive differs from the record and the archive or its table is on hold. A repeated request with the same plan succeeds.",
	}, h.accept)
}

type acceptance struct {
	Name string `path:"name" doc:"the table's whole name"`
	Plan string `query:"plan" required:"true" minLength:"1" doc:"the digest of the plan"`
}

// named parses the name of a table whose archive is to be accepted. The archive may have no record.
func (h *archiveHandler) named(name string) (grid.Table, error) {
	if h.Archiver == nil {
		return grid.Table{}, errNoArchive()
	}
	t, ok := grid.Parse(name)
	policy := h.rotator.Policy()
	if ok {
		_, ok = policy.Retention.ClassOfPrefix(t.Prefix)
	}
	if !ok {
		return t, varve.Errorf(varve.NotFound, "%s is not the name of a table", strconv.Quote(name))
	}
	return t, nil
}

func (h *archiveHandler) planAcceptance(ctx context.Context, in *byName) (*reply[wire.AcceptPlan], error) {
	t, err := h.named(in.Name)
	if err != nil {
		return nil, h.problem(err)
	}
	p, err := h.PlanAcceptance(ctx, t)
	if err != nil {
		return nil, h.problem(archiveProblem(err))
	}
	return &reply[wire.AcceptPlan]{acceptPlan(p)}, nil
}

func (h *archiveHandler) accept(ctx context.Context, in *acceptance) (*reply[wire.ArchiveInfo], error) {
	t, err := h.named(in.Name)
	if err != nil {
		return nil, h.problem(err)
	}
	r, err := h.Accept(ctx, t, in.Plan)
	if err != nil {
		return nil, h.problem(archiveProblem(err))
	}
	return h.answer(ctx, &r)
}

func acceptPlan(p *archive.Acceptance) wire.AcceptPlan {
	r := &p.Record
	body := wire.AcceptPlan{
		Table: r.Table.Name(), Exists: p.Exists, Hold: p.Hold(), Whole: p.Whole, Merged: p.Merged,
		Recorded: wire.ArchiveCounts{Readings: r.Readings, Series: r.Series},
		Accepted: wire.ArchiveCounts{Manifest: p.Manifest, Readings: p.Readings, Series: p.Series},
		Erased:   p.Erased, Unexplained: p.Unexplained, Added: p.Added, Rewrite: p.Rewrite, Damaged: []wire.DamagedFile{},
		Missing: missingCounts(&p.Lost), Changed: missingCounts(&p.Changed), DaysUnknown: p.DaysUnknown, Others: []wire.OtherArchive{}, Digest: p.Digest(),
	}
	if r.State == archive.Archived {
		body.Recorded.Manifest = r.ManifestKey()
	}
	for _, f := range p.Damaged {
		body.Damaged = append(body.Damaged, wire.DamagedFile(f))
	}
	for _, o := range p.Others {
		body.Others = append(body.Others, wire.OtherArchive(o))
	}
	if p.Exists && !p.Whole && !p.Rewrite {
		inTable := missingCounts(&p.InTable)
		body.InTable = &inTable
	}
	return body
}

func missingCounts(m *archive.Missing) wire.MissingCounts {
	body := wire.MissingCounts{Readings: m.Readings, Series: m.Series, Days: m.Days, List: []wire.MissingDay{}}
	for _, d := range m.List {
		day := time.Unix(int64(d.Day)*24*60*60, 0).UTC().Format(time.DateOnly)
		body.List = append(body.List, wire.MissingDay{Tenant: d.Series.Tenant, Stream: d.Series.Stream, Device: d.Series.Device, Day: day, Readings: d.Readings})
	}
	return body
}

// VerifyProblem is the body of the answer to a failed verification.
type VerifyProblem struct {
	huma.ErrorModel
	Unrecorded []wire.UnrecordedFile `json:"unrecorded" doc:"objects in the folders of the archive that no record names"`
}

func (h *archiveHandler) verifyFailed(err error, files []wire.UnrecordedFile) error {
	failed := h.problem(err)
	if model, ok := failed.(*huma.ErrorModel); ok { //nolint:errorlint // problem returns this type
		return &VerifyProblem{*model, files}
	}
	return failed
}

// verifyResponses describes the answers to a verification. Status 503 has a VerifyProblem.
func verifyResponses(o *operations) map[string]*huma.Response {
	all := o.responses(reflect.TypeFor[wire.ArchiveInfo]())
	all["503"] = &huma.Response{
		Description: "A file is missing or has changed",
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: o.schema(reflect.TypeFor[VerifyProblem]())}},
	}
	return all
}

func unrecordedFiles(list []archive.Unrecorded) []wire.UnrecordedFile {
	files := make([]wire.UnrecordedFile, len(list))
	for i := range list {
		files[i] = wire.UnrecordedFile{Key: list[i].Key, Bytes: list[i].Size}
	}
	return files
}
