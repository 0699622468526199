// Package e2e drives the real program by scripts, which can be read as
// examples of how it is used.
package e2e
