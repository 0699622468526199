// Package ingest executes writes of readings for all doors. A door is a protocol through which
// readings arrive, such as HTTP.
//
//	door ──▶ Ingester.Begin(grant) ──▶ Session.Read(source) ──▶ tally, rejections
//	             admit, charge           decode, charge, route, count
//
// The main types:
//
//   - Ingester begins sessions. A server has one for each door.
//   - Session is one write, such as the body of a request.
//   - Source describes the readings of a session: format, body and defaults.
//
// A door opens bodies, and answers in its own protocol. The session does not depend on the
// protocol. Stored readings and duplicates are durable when Read returns, even if it returns an
// error.
package ingest
