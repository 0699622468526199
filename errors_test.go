package varve_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/varvedb/varve"
)

// TestFailureOf_FindsWrappedKind checks that FailureOf finds the kind of a wrapped error, and
// returns Internal for an error without a kind.
func TestFailureOf_FindsWrappedKind(t *testing.T) {
	busy := varve.Errorf(varve.Busy, "too much")
	tests := []struct {
		reason string
		err    error
		want   varve.Failure
	}{
		{"nothing", nil, varve.Internal},
		{"an error of no kind", io.EOF, varve.Internal},
		{"an error of a kind", busy, varve.Busy},
		{"wrapped", fmt.Errorf("write: %w", busy), varve.Busy},
		{"wrapped twice", fmt.Errorf("a: %w", fmt.Errorf("b: %w", busy)), varve.Busy},
		{"joined", errors.Join(io.EOF, busy), varve.Busy},
		{"two kinds: the outer one", &varve.Error{Failure: varve.NotFound, Err: busy}, varve.NotFound},
		{"a parameter", varve.InvalidParam("from", "is missing"), varve.Invalid},
		{"conflict", varve.Errorf(varve.Conflict, ""), varve.Conflict},
		{"unavailable", varve.Errorf(varve.Unavailable, ""), varve.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := varve.FailureOf(tt.err); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// TestError_NamesParameterAndCause checks the text of an error and the error that it wraps.
func TestError_NamesParameterAndCause(t *testing.T) {
	tests := []struct {
		err  *varve.Error
		want string
	}{
		{varve.Errorf(varve.Busy, "%d at once", 7), "7 at once"},
		{varve.InvalidParam("limit", "%d is negative", -1), "limit: -1 is negative"},
		{&varve.Error{Message: "cannot read", Err: io.EOF}, "cannot read: EOF"},
		{&varve.Error{Param: "cursor", Message: "is cut short", Err: io.EOF}, "cursor: is cut short: EOF"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if errors.Is(tt.err, io.EOF) != (tt.err.Err != nil) {
			t.Errorf("%v: its cause is not found", tt.err)
		}
	}
}
