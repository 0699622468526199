package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/varvedb/varve/api/wire"
)

const archivesPath = "/v1/archives"

// Archives lists the archives of tables.
func (c OperatorCalls) Archives(ctx context.Context) (wire.ArchiveList, error) {
	return getJSON[wire.ArchiveList](ctx, c.connection, request{method: http.MethodGet, path: archivesPath})
}

// ArchiveTable archives a table, and waits until the archive is verified. The call can be retried.
func (c OperatorCalls) ArchiveTable(ctx context.Context, table string) (wire.ArchiveInfo, error) {
	return c.changeArchive(ctx, table, "")
}

// VerifyArchive makes the server read all files of a table's archive and compare them with the manifest.
func (c OperatorCalls) VerifyArchive(ctx context.Context, table string) (wire.ArchiveInfo, error) {
	return c.changeArchive(ctx, table, "/verify")
}

// RestoreArchive restores a dropped table from its archive. The call can be retried.
func (c OperatorCalls) RestoreArchive(ctx context.Context, table string) (wire.ArchiveInfo, error) {
	return c.changeArchive(ctx, table, "/restore")
}

// PlanAcceptance compares the stored archive of a table with its record. It changes nothing.
func (c OperatorCalls) PlanAcceptance(ctx context.Context, table string) (wire.AcceptPlan, error) {
	return getJSON[wire.AcceptPlan](ctx, c.connection, request{method: http.MethodGet, path: archivesPath + "/" + segment(table) + "/accept-plan"})
}

// AcceptArchive makes the record of a table describe its stored archive. The argument "digest" is
// the digest of the plan. The call can be retried. It fails with varve.Conflict if the plan has changed.
func (c OperatorCalls) AcceptArchive(ctx context.Context, table, digest string) (wire.ArchiveInfo, error) {
	return getJSON[wire.ArchiveInfo](ctx, c.connection, request{
		method: http.MethodPost, path: archivesPath + "/" + segment(table) + "/accept", query: url.Values{"plan": {digest}},
	})
}

// HoldArchive puts the archive of a table on hold, so that it is not deleted after its retention.
func (c OperatorCalls) HoldArchive(ctx context.Context, table, reason string) (wire.ArchiveInfo, error) {
	return getJSON[wire.ArchiveInfo](ctx, c.connection, holdRequest(archivesPath+"/"+segment(table), reason))
}

// ReleaseArchive releases the hold on the archive of a table.
func (c OperatorCalls) ReleaseArchive(ctx context.Context, table string) (wire.ArchiveInfo, error) {
	return getJSON[wire.ArchiveInfo](ctx, c.connection, request{method: http.MethodDelete, path: archivesPath + "/" + segment(table) + "/hold"})
}

func (c OperatorCalls) changeArchive(ctx context.Context, table, what string) (wire.ArchiveInfo, error) {
	return getJSON[wire.ArchiveInfo](ctx, c.connection, request{method: http.MethodPost, path: archivesPath + "/" + segment(table) + what})
}
