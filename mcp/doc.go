// Package mcp offers a server's data to language models, through the Model Context Protocol.
//
//	host ── stdin, stdout ── Serve ── tools ── api/client ── varve serve
//
// A tool reads, and never changes anything: the client of the tools must be read-only, so that it
// refuses every request that is not a GET. See [client.ReadOnly].
//
// Invariants:
//
//   - An answer has at most 100 kB. If it lacks entries, its note has the remedy, such as a cursor.
//   - Numbers have all their digits.
//   - A failure is a tool error with the remedy. The session continues.
package mcp
