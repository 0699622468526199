// Package access measures every access pattern of docs/access-patterns.md on a
// DynamoDB emulator, and compares what it costs with what is written there.
package access
