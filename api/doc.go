// Package api is Varve's HTTP server: readings in, readings out, tables.
//
// The paths that move readings are written by hand, close to the wire; the
// others, and the description of all of them, are huma's. Every failure is a
// problem as RFC 9457 has it; server.go has the table that maps kinds of failure
// to statuses, and package client maps them back.
package api
