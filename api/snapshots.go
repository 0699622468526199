package api

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
)

// Snapshotter makes a snapshot of the store. The function "remove" deletes the snapshot. The caller must
// call it once.
type Snapshotter func(ctx context.Context) (made wire.Snapshot, remove func() error, err error)

// snapshotPattern is the route whose requests last as long as their snapshots.
const snapshotPattern = "POST /v1/snapshots"

var errSnapshotDraining = varve.Errorf(varve.Unavailable, "the server stops: start the backup again")

// snapshotsHandler serves snapshots, one at a time. A snapshot exists as long as its request, so a
// client that dies leaves no files.
type snapshotsHandler struct {
	*responder
	make     Snapshotter // if nil, the store has no snapshots
	limits   Limits
	draining context.Context // ends when the server stops
	exists   sync.Mutex      // locked while a snapshot exists
}

func (h *snapshotsHandler) addRoutes(o *operations) {
	o.raw(http.MethodPost, "/v1/snapshots", h.postSnapshot, &huma.Operation{
		OperationID: "snapshot", Summary: "Make a snapshot of the embedded store, for a backup", Tags: []string{"operation"},
		Description: "The answer is NDJSON: a line with the snapshot, and then lines with waiting. The snapshot is a folder on the server's machine. " +
			"It is deleted when the client ends the request, or when the server stops: then the last line has an error. One snapshot exists at a time.",
		Responses: o.responses(reflect.TypeFor[wire.SnapshotLine](), "200"),
	})
}

// postSnapshot serves POST /v1/snapshots.
func (h *snapshotsHandler) postSnapshot(w http.ResponseWriter, r *http.Request) {
	err := writes.Known(r.URL.Query())
	if err == nil && h.make == nil {
		err = varve.Errorf(varve.Conflict, "this store has no snapshots: use the backups of its database")
	}
	if err == nil && !h.exists.TryLock() {
		err = varve.Errorf(varve.Conflict, "another backup is under way: wait for its end")
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer h.exists.Unlock()
	made, remove, err := h.make(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer func() {
		if err := remove(); err != nil {
			h.failed(r, err)
		}
	}()
	h.waitForEnd(w, r, made)
}

// waitForEnd sends the snapshot, and waits until the client ends the request or the server stops.
// Meanwhile, it sends lines that show the client that the snapshot exists.
func (h *snapshotsHandler) waitForEnd(w http.ResponseWriter, r *http.Request, made wire.Snapshot) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	lines := &answerLines{control: http.NewResponseController(w), w: w, gone: cancel}
	if err := lines.begin(); err != nil {
		h.fail(w, r, err)
		return
	}
	lines.send(wire.SnapshotLine{Snapshot: &made})
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.draining.Done():
			lines.send(wire.SnapshotLine{Error: errSnapshotDraining.Error()})
			return
		case <-tick.C:
			lines.send(wire.SnapshotLine{Waiting: true})
		}
	}
}
