// Package api serves Varve's HTTP API.
//
//	request ──▶ enter (host, key, rate) ──▶ route (access, limits, metrics) ──▶ handler
//	                                                                      │
//	                                          answer, or Problem (RFC 9457) ◀──┘
//
// The main types:
//
//   - [Server] is the handler of all routes. Each resource has a handler, such as tablesHandler,
//     with the parts that the resource uses.
//   - [Options] has the parts that the server uses, and [Limits] bounds its requests.
//   - [Events] has the callbacks for failures, verdicts and changes of keys.
//   - [Starting] answers until the store is open.
//
// The routes that transfer readings are written by hand, with package wire. Most other routes use
// huma, which also serves the OpenAPI document.
//
// These rules always hold:
//
//   - A route without an entry in accesses requires an operator's key.
//   - A route that is open to keys of all tenants sees only the tenant of the request's key.
//   - The number of concurrent reads is limited, and reads above the limit are refused as busy.
//
// A failed request is answered with a Problem. On the paths of InfluxDB, Prometheus and Firehose,
// the error has the form of that protocol instead. The functions [wire.StatusOf] and
// [wire.FailureOfStatus] convert between failures and HTTP statuses. Faults of the server are
// passed to Events.Failed. A Server is safe for concurrent use.
package api
