// Package mcp offers a server's data to language models, through the Model Context Protocol.
//
//	host ── stdin, stdout ── Serve ── tools ── api/client ── varve serve
//
// [Server] answers the tool calls of one host, and [Options] has its client.
//
// These rules always hold:
//
//   - A tool reads, and never changes anything. The client of the tools must be read-only, so that
//     it refuses every request that is not a GET: see [client.ReadOnly].
//   - An answer has at most 100 kB. If it lacks entries, its note has the remedy, such as a cursor.
//   - Numbers have all their digits.
//
// A failure is a tool error with the remedy, and the model may call the tool again. The session
// continues until the input or the context ends. [New] refuses a client that can change data.
package mcp
