// Package engine wires the parts together, once: for the server, the command
// line, tests, and programs that use Varve as a library.
//
//	                 ┌────────── api ──────────┐
//	                 │            │            │
//	readings ──▶ router        query ◀── questions
//	                 │            │            │
//	              streams ────────┤         rotator ◀── cron
//	                 │            │            │         │
//	                 │          rollup ────────┤ ◀───────┘
//	                 │            │            │
//	                 └──────── store ──────────┘
//	                    mem │ local │ …
//
// The users of the store do not know each other: the router marks readings for
// roll-ups, and these read readings, through small interfaces of their own.
package engine
