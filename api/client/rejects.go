package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/varvedb/varve/api/wire"
)

// Rejects returns a page of the selected rejects, the latest arrival first.
func (c RejectCalls) Rejects(ctx context.Context, s wire.RejectSelection, l List) (wire.RejectList, error) {
	return getJSON[wire.RejectList](ctx, c.connection, request{method: http.MethodGet, path: rejectsPath, query: selected(s, l)})
}

// Reject returns a reject. If it does not exist, Reject fails with varve.NotFound.
func (c RejectCalls) Reject(ctx context.Context, id string) (wire.RejectBody, error) {
	return getJSON[wire.RejectBody](ctx, c.connection, request{method: http.MethodGet, path: rejectPath(id)})
}

// ReplayReject replays a reject. It fails with varve.NotFound if the reject does not exist. The call can
// be retried.
func (c RejectCalls) ReplayReject(ctx context.Context, id string, o wire.ReplayOptions) (wire.ReplayAnswer, error) {
	return getJSON[wire.ReplayAnswer](ctx, c.connection, sendJSON(http.MethodPost, rejectPath(id)+"/replay", o))
}

// ReplayRejects replays the selected rejects, up to the limit of the request. To continue, repeat the
// call with Next of the answer as Cursor.
func (c RejectCalls) ReplayRejects(ctx context.Context, r wire.ReplayRequest) (wire.ReplayAnswer, error) {
	return getJSON[wire.ReplayAnswer](ctx, c.connection, sendJSON(http.MethodPost, rejectsPath+"/replay", r))
}

// DeleteReject deletes a reject. A missing reject is not an error.
func (c RejectCalls) DeleteReject(ctx context.Context, id string) (wire.DeletedRejects, error) {
	return getJSON[wire.DeletedRejects](ctx, c.connection, request{method: http.MethodDelete, path: rejectPath(id)})
}

// DeleteRejects deletes the selected rejects, up to the limit of the list. To continue, repeat the call
// with Next of the answer as Cursor.
func (c RejectCalls) DeleteRejects(ctx context.Context, s wire.RejectSelection, l List) (wire.DeletedRejects, error) {
	return getJSON[wire.DeletedRejects](ctx, c.connection, request{method: http.MethodDelete, path: rejectsPath, query: selected(s, l)})
}

const rejectsPath = "/v1/rejects"

func rejectPath(id string) string { return rejectsPath + "/" + segment(id) }

func selected(s wire.RejectSelection, l List) url.Values {
	q := l.values()
	for name, text := range map[string]string{"stream": s.Stream, "device": s.Device, "code": s.Code, "door": s.Door, "since": s.Since, "from": s.From, "to": s.To, "during": s.During} {
		if text != "" {
			q.Set(name, text)
		}
	}
	return q
}
