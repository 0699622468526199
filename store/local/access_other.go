//go:build !unix

package local

// writable returns nil. On this system, only the creation of a file shows whether a folder is
// writable.
func writable(string) error { return nil }
