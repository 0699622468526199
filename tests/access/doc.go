// Package access measures the cost of every access pattern on a DynamoDB emulator, and compares
// the cost with docs/access-patterns.md.
package access
