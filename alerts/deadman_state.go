package alerts

import "time"

// maxSeenDelay is the longest time by which a device's last reading may be later than its last-seen
// record. The record is precise to the minute.
const maxSeenDelay = time.Minute

// deviceState is the state of a device after the last sweep of a deadman rule.
type deviceState struct {
	seen    lastSeen
	open    bool // an alert is open about the silence that began at seen.at
	recheck bool // the next sweep must evaluate the device, because an episode has changed or may have changed
	// tablesRead is true if the last arrival was read from the tables, or if last-seen records
	// make the read unnecessary. lastArrival is the result of the read; zero if the tables had
	// no reading.
	tablesRead  bool
	lastArrival time.Time
}

// upToDate reports whether the state of a device is still correct, given the time at which the
// device was last seen.
//
// An open alert stays open until the device is seen again. If this process knows of no open alert,
// another process may have opened one. If that process held the lease, recheck is set. If it lost
// the lease during a sweep, and opened the alert afterward, recheck is not set. But an alert needs
// a silence of at least Rule.For. So no alert can open between two last-seen times that are less
// than Rule.For apart.
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
	since   time.Time // time of the first sweep of the rule by this process
	devices map[string]deviceState
}

// deadmanState maps the names of all deadman rules, from Rule.globalName, to their states.
type deadmanState map[string]*ruleState

// of returns the state of a rule. It adds a state if the rule is new.
func (s deadmanState) of(r *Rule, now time.Time) *ruleState {
	name := r.globalName()
	if s[name] == nil {
		s[name] = &ruleState{since: now}
	}
	return s[name]
}

// retain returns the states of the given rules, without the states of all others.
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
