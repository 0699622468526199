// Package api is Varve's HTTP server.
//
//	request ──▶ enter (host, key, rate) ──▶ route (access, limits, metrics) ──▶ handler
//	                                                                      │
//	                                          answer, or Problem (RFC 9457) ◀──┘
//
// The main types:
//
//   - Server is the handler of all routes.
//   - Each resource has a handler, as tablesHandler, with the parts that it uses.
//   - Options hold the parts that it serves, and Limits bound its requests.
//   - Events report failures, verdicts and changes of keys.
//
// The routes that move readings are written by hand, close to package wire. The others,
// and the OpenAPI document of all routes, use huma. A route without an entry in
// accesses requires an operator's key.
//
// Every failure is a problem. The table statuses of package wire maps kinds of failure
// to statuses, and package client maps them back.
package api
