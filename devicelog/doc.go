// Package devicelog stores the log of device states.
//
//	Entry ── Add ──┬─ item by time           LOG#<time>#<id>
//	               └─ item by state          LOG_STATE#<state>#<time>#<id>
//	List ── one ordered query: of a device, an operator or a supervisor
//
// Log is the log of all tenants. Entry is one entry, and Query selects entries.
//
// An entry is stored as two items, so that each list is one ordered query. The item by time is
// written first, and the item by state second. If Add fails in between, the entry is not
// acknowledged, and the resent entry completes it. An entry never changes.
package devicelog
