//go:build !unix

package filelock

// Lock locks nothing on this system.
func Lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }

// LockTemporary locks nothing on this system, and creates no file.
func LockTemporary(string) (unlock func() error, err error) { return func() error { return nil }, nil }
