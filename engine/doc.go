// Package engine wires the parts together, once: for the server, the command
// line, tests, and programs that use Varve as a library.
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
//	                    mem │ local │ …
//
// The users of the store do not know each other: what the router tells the
// alerts and marks for roll-ups, and what these ask of queries, goes through
// functions and small interfaces that are wired here.
package engine
