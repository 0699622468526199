// Package writes implements the HTTP handlers of writes of readings, for servers and for agents.
//
//	request ──▶ Readings, Lines ──▶ OpenBody ──▶ ingest.Session ──▶ verdicts
//
// The main types and functions:
//
//   - [Readings] serves bodies in all formats of readings.
//   - [Lines] serves the routes of clients of InfluxDB.
//   - [Options] has the parts that both need, such as the ingester.
//   - [OpenBody] returns a decompressed body of limited length.
//
// A handler checks no key and no host. The server must check them before, and provide the rights of
// the request with Options.Grant.
//
// The error for a body that is too large, unsupported or stalled wraps [ErrTooLarge], [ErrUnsupported] or
// [ErrStalled]. Readings before an error may be stored. A client may resend the whole body. The handlers
// are safe for concurrent use.
package writes
