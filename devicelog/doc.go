// Package devicelog stores the log of device states.
//
//	Entry ── Add ──┬─ item by time           LOG#<time>#<id>
//	               └─ item by state          LOG_STATE#<state>#<time>#<id>
//	List ── entries of a device, an operator or a supervisor, in the order of time
//
// Log is the log of all tenants. Entry is one entry, and Query selects entries.
//
// An entry is stored as two items, so that a list of one state, or of all states, is one ordered
// query. The item by time is written first, and the item by state second. If Add fails in between,
// the entry is not acknowledged, and is completed when it is resent. An entry never changes.
package devicelog
