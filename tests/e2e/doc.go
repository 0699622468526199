// Package e2e tests the real program with scripts.
//
// The scripts are also examples of the program's use, and the documents show their output. They run on
// the embedded store and on a DynamoDB emulator. A test fails if the output of a command differs from its
// script. Other tests check documents, guides, backups, damage and the tools for language models.
package e2e
