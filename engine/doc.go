// Package engine wires the parts together, once: for the server, the command
// line, tests, and programs that use Varve as a library.
//
//	                 ┌────────── api ──────────┐
//	                 │            │            │
//	readings ──▶ router        query ◀── questions
//	                 │            │            │
//	              streams ────────┤         rotator ◀── cron
//	                 │            │            │
//	                 └──────── store ──────────┘
//	                    mem │ local │ …
//
// The three users of the store do not know each other.
package engine
