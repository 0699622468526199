package alerts

import (
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/internal/quote"
)

// LateMode selects how the late alerts of a rule are delivered.
type LateMode string

// Modes of delivery for late alerts.
const (
	LateNotify LateMode = "notify" // each late alert has messages of its own, as other alerts have
	LateDigest LateMode = "digest" // one message counts many late alerts
	LateSilent LateMode = "silent" // late alerts are not delivered
)

// LateModes returns all modes.
func LateModes() []LateMode { return []LateMode{LateNotify, LateDigest, LateSilent} }

func checkLateMode(m LateMode) error {
	if m == "" || slices.Contains(LateModes(), m) {
		return nil
	}
	return varve.InvalidParam("late", "%s is unknown: use %s", quote.Text(string(m)), param.Alternatives(LateModes()))
}
