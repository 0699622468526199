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
// The router, alerts, roll-ups and queries do not import each other. The router reports readings to
// alerts and to roll-ups, and both read through queries. These packages use functions and small
// interfaces, which this package connects.
package engine
