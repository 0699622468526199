package rotator

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// ErrOtherPlan means that the plan of a run does not have the digest that the caller gave.
var ErrOtherPlan = errors.New("the plan has changed")

// Digest identifies the actions of a plan: their kinds, tables and tiers, in order. Equal digests
// mean equal effects, at any time and with any number of readings in the tables.
func (p *Plan) Digest() string {
	h := sha256.New()
	for _, a := range p.Actions {
		fmt.Fprintf(h, "%s %s %s\n", a.Kind, a.Table, a.Tier) // a write to a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// check fails with ErrOtherPlan if a digest is given and differs from the digest of the plan.
func (p *Plan) check(digest string) error {
	if is := p.Digest(); digest != "" && digest != is {
		return fmt.Errorf("plan %s: %w, now it is %s: read the new one with varve tables plan", digest, ErrOtherPlan, is)
	}
	return nil
}
