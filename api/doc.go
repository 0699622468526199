// Package api is Varve's HTTP server.
//
//	request ──▶ enter (host, key, rate) ──▶ route (access, limits, metrics) ──▶ handler
//	                                                                      │
//	                                          answer, or Problem (RFC 9457) ◀──┘
//
// The main types:
//
//   - Server is the handler of all routes.
//   - Each resource has a handler, such as tablesHandler, with the parts that the resource uses.
//   - Options holds the parts that the server uses, and Limits bounds its requests.
//   - Events holds callbacks for failures, verdicts and changes of keys.
//
// The routes that transfer readings are written by hand, with package wire. The others, and the
// OpenAPI document of all routes, use huma. A route without an entry in accesses requires an
// operator's key.
//
// Every failure is a problem, except on the paths of InfluxDB, Prometheus and Firehose, where errors have
// the form of that protocol. The table statuses of package wire maps kinds of failure to statuses, and
// package client maps them back.
package api
