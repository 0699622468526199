package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// Verifier reads all that is stored, at most rate bytes or units a second, and
// reports damage. It changes nothing.
type Verifier func(ctx context.Context, rate int64, report func(wire.Damage)) error

func (s *Server) routeVerify() {
	s.raw(http.MethodPost, "/v1/verify", s.postVerify, &huma.Operation{
		OperationID: "verify", Summary: "Read all that is stored and report damage", Tags: []string{"operation"},
		Description: "The answer is NDJSON, a line for each damaged place as it is found, and a last line with done or error.",
		Parameters:  queryParams("rate", "read at most so many bytes a second, on DynamoDB read units; default no limit"),
		Responses:   s.responses(reflect.TypeFor[wire.VerifyLine](), "200"),
	})
}

// postVerify serves POST /v1/verify.
func (s *Server) postVerify(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	if err := known(asked, "rate"); err != nil {
		s.fail(w, r, err)
		return
	}
	rate := int64(0)
	if text := asked.Get("rate"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			s.fail(w, r, varve.InvalidParam("query.rate", "%q is not a positive number", text))
			return
		}
		rate = n
	}
	if s.opts.Verify == nil {
		s.fail(w, r, varve.Errorf(varve.Conflict, "this store keeps nothing that can be verified"))
		return
	}
	if !s.verifying.TryLock() {
		s.fail(w, r, varve.Errorf(varve.Conflict, "a verification is under way: wait for its end"))
		return
	}
	defer s.verifying.Unlock()
	w.Header().Set("Content-Type", "application/x-ndjson")
	flush := http.NewResponseController(w)
	line := func(l wire.VerifyLine) {
		text, err := json.Marshal(l)
		if err != nil {
			text = []byte(`{"error":"the damage cannot be shown"}`)
		}
		s.write(w, append(text, '\n'))
		_ = flush.Flush() // a client that is gone ends the request's context
	}
	err := s.opts.Verify(r.Context(), rate, func(d wire.Damage) { line(wire.VerifyLine{Damage: &d}) })
	if err != nil {
		line(wire.VerifyLine{Error: err.Error()})
		return
	}
	line(wire.VerifyLine{Done: true})
}
