// Package writes has the HTTP handlers of writes of readings, for servers and for agents.
//
//	request ──▶ Readings, Lines ──▶ OpenBody ──▶ ingest.Session ──▶ verdicts
//
// The main types:
//
//   - Readings serves bodies in all formats of readings.
//   - Lines serves the routes of clients of InfluxDB.
//   - Options has the parts that both need, such as the ingester.
//
// A handler checks no key and no host. The server must check them before, and provide the rights of the
// request with Options.Grant.
package writes
