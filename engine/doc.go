// Package engine wires the parts of Varve for servers, commands, tests and programs that embed it.
//
//	                 ┌────────── api ──────────┐
//	                 │            │            │
//	readings ──▶ router ──▶ alerts ──▶ query ◀── questions
//	                 │         │          │    │
//	                 │         └─ devices ┤    │
//	              streams ────────────────┤ rotator ◀── cron
//	                 │            │            │         │
//	                 │          rollup ────────┤ ◀───────┘
//	                 └──────── store ──────────┘
//	                    mem │ local │ dynamo
//
// [Open] returns an [Engine] with the connected parts for its [Options], and [Archive] configures
// the archive. The engine also runs the background work: rotation, deadman rules, roll-ups,
// archives, erasures and the delivery of alerts.
//
// The router, alerts, roll-ups and queries do not import each other. The router reports readings to
// alerts and to roll-ups, and both read through queries. These packages use functions and small
// interfaces, which this package connects.
//
// Open fails for invalid options, and then closes the store. If the first rotation fails, Open
// succeeds and sets [health.RotationFailing]. A background task that fails is reported and retried.
// After a crash, the next Open continues the work from the registry. The parts are safe for
// concurrent use, and [Engine.Close] ends them.
package engine
