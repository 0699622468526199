package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
)

// Verifier reads all stored data and reports damage. It changes nothing.
type Verifier func(ctx context.Context, v Verification) error

// Verification has the arguments of a [Verifier]. The verifier calls Found and Read from one goroutine.
type Verification struct {
	// Rate is the maximum number of bytes or read units per second. If 0, the verifier chooses.
	Rate int64
	// Found is called for each damaged part of the store.
	Found func(wire.Damage)
	// Read is called now and then with the number of bytes or read units that were read so far.
	Read func(n int64)
}

// verifyPattern is the route of verifications, which may take longer than limits.request.
const verifyPattern = "POST /v1/verify"

// progressEvery is the minimum time between two progress lines of a verification. The answer of a
// snapshot has a line with the property "waiting" for each such interval.
const progressEvery = 5 * time.Second

var (
	errStuck    = varve.Errorf(varve.Unavailable, "the verification made no progress: start it again")
	errDraining = varve.Errorf(varve.Unavailable, "the server stops: start the verification again")
)

// verifyHandler serves verifications, one at a time.
type verifyHandler struct {
	*responder
	verify Verifier // if nil, the store has nothing that can be damaged
	limits Limits
	// draining ends when the server stops.
	draining context.Context
	// verifying is locked while a verification is under way.
	verifying sync.Mutex
}

func (h *verifyHandler) addRoutes(o *operations) {
	o.raw(http.MethodPost, "/v1/verify", h.postVerify, &huma.Operation{
		OperationID: "verify", Summary: "Read all stored data and report damage", Tags: []string{"operation"},
		Description: "The answer is NDJSON: a line for each damaged place as it is found, lines with read now and then, and a last line with done or error. " +
			"It may take as long as it makes progress, and ends when the client goes or the server stops. One verification runs at a time.",
		Parameters: queryParams("rate", "maximum number of bytes, or on DynamoDB read units, a second; default 16 MiB, or 1,000 units"),
		Responses:  o.responses(reflect.TypeFor[wire.VerifyLine](), "200"),
	})
}

// postVerify serves POST /v1/verify.
func (h *verifyHandler) postVerify(w http.ResponseWriter, r *http.Request) {
	rate, err := verifyRate(r)
	if err == nil && h.verify == nil {
		err = varve.Errorf(varve.Conflict, "this store keeps nothing that can be verified")
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if !h.verifying.TryLock() {
		h.fail(w, r, varve.Errorf(varve.Conflict, "a verification is under way: wait for its end"))
		return
	}
	defer h.verifying.Unlock()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(h.draining, func() { cancel(errDraining) })()
	stuck := time.AfterFunc(h.limits.Request, func() { cancel(errStuck) })
	defer stuck.Stop()
	lines := &answerLines{control: http.NewResponseController(w), w: w, gone: cancel}
	if err := lines.begin(); err != nil {
		h.fail(w, r, err)
		return
	}
	err = h.verify(ctx, Verification{
		Rate:  rate,
		Found: func(d wire.Damage) { lines.send(wire.VerifyLine{Damage: &d}) },
		Read: func(n int64) {
			stuck.Reset(h.limits.Request)
			if n > 0 && lines.rested() >= progressEvery {
				lines.send(wire.VerifyLine{Read: n})
			}
		},
	})
	switch cause := context.Cause(ctx); {
	case err != nil && cause != nil:
		lines.send(wire.VerifyLine{Error: cause.Error()})
	case err != nil:
		lines.send(wire.VerifyLine{Error: err.Error()})
	default:
		lines.send(wire.VerifyLine{Done: true})
	}
}

func verifyRate(r *http.Request) (int64, error) {
	asked := r.URL.Query()
	if err := writes.Known(asked, "rate"); err != nil {
		return 0, err
	}
	text := asked.Get("rate")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, varve.InvalidParam("query.rate", "%q is not a positive number", text)
	}
	return n, nil
}
