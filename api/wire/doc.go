// Package wire reads and writes readings as JSON, NDJSON and CSV.
//
// Readers take a body apart batch by batch, so that a body of any length needs
// the memory of a batch. What is wrong with one reading becomes its verdict and
// does not touch the others; only a body that cannot be read on is an error.
// One reading is the same, id included, whichever form it was sent in.
package wire
