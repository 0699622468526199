package varve_test

import (
	"testing"

	"github.com/varvedb/varve"
)

// TestVerdict_HasStableWords checks the texts of outcomes and codes. They are part of the API.
func TestVerdict_HasStableWords(t *testing.T) {
	tests := []struct {
		v    varve.Verdict
		want string
	}{
		{varve.Verdict{}, "undecided"},
		{varve.Verdict{Outcome: varve.Stored}, "stored"},
		{varve.Verdict{Outcome: varve.Duplicate}, "duplicate"},
		{varve.Reject(varve.CodeTooLarge, "%d bytes", 7), "rejected(too_large: 7 bytes)"},
		{varve.Reject(varve.CodeMalformed, "100%%"), "rejected(malformed: 100%)"},
	}
	for _, tt := range tests {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	codes := map[varve.Code]string{
		varve.CodeTimeMissing: "time_missing", varve.CodeTimeInvalid: "time_invalid", varve.CodeTimeUnit: "time_unit",
		varve.CodeTimeInFuture: "time_in_future", varve.CodeTimeTooOld: "time_too_old", varve.CodeStreamInvalid: "stream_invalid",
		varve.CodeDeviceInvalid: "device_invalid", varve.CodeIDInvalid: "id_invalid", varve.CodeFieldInvalid: "field_invalid",
		varve.CodeTooLarge: "too_large", varve.CodeMalformed: "malformed", varve.CodeUnavailable: "unavailable",
		varve.CodeConflict: "conflict",
	}
	for code, want := range codes {
		if string(code) != want {
			t.Errorf("code %s, want %s", code, want)
		}
		if code.Retryable() != (code == varve.CodeUnavailable) {
			t.Errorf("%s is worth sending again: %t", code, code.Retryable())
		}
	}
}
