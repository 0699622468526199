// Package engine wires the parts of Varve for the server, the commands, tests and programs that
// embed Varve.
//
//	                 ┌────────── api ──────────┐
//	                 │            │            │
//	readings ──▶ router ──▶ alerts ──▶ query ◀── questions
//	                 │         │          │    │
//	                 │         └─ devices ┤    │
//	              streams ────────────────┤ rotator ◀── cron
//	                 │            │            │         │
//	                 │          rollup ────────┤ ◀───────┘
//	                 │            │            │
//	                 └──────── store ──────────┘
//	                    mem │ local │ dynamo
//
// The users of the store do not know each other: what the router tells the
// alerts and marks for roll-ups, and what these ask of queries, goes through
// functions and small interfaces that are wired here.
package engine
