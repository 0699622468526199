// Package e2e tests the real program with scripts, which also serve as examples.
package e2e
