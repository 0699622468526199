// Package engine wires the parts of Varve for the server, the commands, tests and programs that
// embed Varve.
//
//	                 ┌────────── api ──────────┐
//	                 │            │            │
//	readings ──▶ router        query ◀── questions
//	                 │ ╲        ╱ │            │
//	                 │   fleet    │            │
//	              streams ────────┤         rotator ◀── cron
//	                 │            │            │         │
//	                 │          rollup ────────┤ ◀───────┘
//	                 │            │            │
//	                 └──────── store ──────────┘
//	                    mem │ local │ dynamo
//
// [Open] takes [Options] and returns an [Engine]. Its fields are the parts. [Events] collects
// the callbacks of all parts.
//
// The parts do not import each other. The engine connects them with functions and small
// interfaces: the router reports readings to the fleet and to roll-ups, and both query stored
// readings.
//
// Open fails only for invalid options. If the first rotation fails, the condition
// RotationFailing holds, and the schedule retries it. Background jobs report failures through
// Events and retry.
package engine
