// Package devicelog stores the log of device states.
//
//	Entry ── Add ──┬─ item by time           LOG#<time>#<id>
//	               └─ item by state          LOG_STATE#<state>#<time>#<id>
//	List ── entries of a device, an operator or a supervisor, in the order of time
//
// The main types and functions:
//
//   - [Log] is the log of all tenants.
//   - [Entry] is one entry, and [Query] selects entries.
//   - [FindEntries] finds the items of a device, for an erasure.
//
// An entry never changes. It is stored as two items, so that a list of one state, or of all states,
// is one ordered query. The item by time is written first, and the item by state second.
//
// If [Log.Add] fails in between, the entry is not acknowledged, and is completed when it is resent.
// A resent entry has the same id, so it is a duplicate. A Log is safe for concurrent use.
package devicelog
