// Package access measures the cost of every access pattern on a DynamoDB emulator.
//
// It compares the requests and units with docs/access-patterns.md. A test fails if the document and
// the measurement differ, or if a pattern names a test that does not exist. A short run uses a
// faster emulator, and compares only the operations.
package access
