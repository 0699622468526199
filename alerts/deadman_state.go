package alerts

import "time"

// maxSeenDelay is the largest delay between a device's last reading and its last-seen
// record, which is kept to the minute.
const maxSeenDelay = time.Minute

// deviceState is the state of a device after the last sweep of a deadman rule.
type deviceState struct {
	seen    lastSeen
	open    bool // an alert is open about the silence since then
	recheck bool // the sweep made a change, or another process may have
	// tablesRead reports whether the last arrival was read from the tables, or need not
	// be. lastArrival is the result; zero if the tables had none.
	tablesRead  bool
	lastArrival time.Time
}

// upToDate reports whether the state of a device still holds, given that it was last seen
// at a time.
//
// An open alert stays open until the device is seen. Without one, another process may have
// opened one since, which sets recheck. A process that lost its lease during a sweep may
// open one even later. It does so only for a silence as long as the rule requires, so not
// between two times that are closer together.
func (d *deviceState) upToDate(r *Rule, seen lastSeen, now time.Time) bool {
	gap := seen.at.Sub(d.seen.at)
	switch {
	case d.recheck:
		return false
	case d.open:
		return gap == 0
	case seen.at.IsZero():
		return d.tablesRead
	}
	limit := min(max(r.For/2, 2*time.Minute), r.For+d.seen.late)
	return gap < limit && !seen.silentFor(r.For, now)
}

// ruleState is the state of a deadman rule between sweeps.
type ruleState struct {
	since   time.Time // its first sweep by this process
	devices map[string]deviceState
}

// deadmanState holds the states of all deadman rules by their global names.
type deadmanState map[string]*ruleState

// of returns the state of a rule. It adds one if the rule is new.
func (s deadmanState) of(r *Rule, now time.Time) *ruleState {
	name := r.globalName()
	if s[name] == nil {
		s[name] = &ruleState{since: now}
	}
	return s[name]
}

// retain returns the states of some rules. It drops all others.
func (s deadmanState) retain(rules []Rule) deadmanState {
	kept := make(deadmanState, len(rules))
	for i := range rules {
		name := rules[i].globalName()
		if r := s[name]; r != nil {
			kept[name] = r
		}
	}
	return kept
}

// recheckAll marks all devices for an evaluation in the next sweep.
func (s deadmanState) recheckAll() {
	for _, r := range s {
		for name, d := range r.devices {
			d.recheck = true
			r.devices[name] = d
		}
	}
}
