// Package ingest executes writes of readings for all doors.
//
//	door ──▶ Ingester.Begin(grant) ──▶ Session.Read(source) ──▶ tally, rejections
//	             admit, charge           decode, charge, route, count
//
// A door is a protocol through which readings arrive, such as HTTP. The main types:
//
//   - [Ingester] begins sessions. A server has one for each door.
//   - [Session] is one write, such as the body of a request.
//   - [Source] describes the readings of a session: format, body and defaults.
//   - [Destination] receives the readings: a router, or an outbox of an agent.
//   - [Replay] describes how rejects are reread.
//
// These rules always hold:
//
//   - A door opens bodies, and answers in its own protocol. The session does not depend on the
//     protocol.
//   - Stored readings and duplicates are durable when [Session.Read] returns, even if it returns an
//     error.
//   - A session has its turn to compute only while it decodes and writes, not while it waits for
//     its sender.
//
// [Ingester.Begin] fails with varve.Busy if the rate of the key is exceeded, or if too many writes
// are under way. An error of Read means that the source was not read and stored to its end. Its readings
// may be resent, and stored ones are duplicates. An Ingester is safe for concurrent use. Only one
// goroutine may use a Session.
package ingest
