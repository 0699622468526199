//go:build unix

package local

import "golang.org/x/sys/unix"

// writable returns why files cannot be made in a folder; nil: they can.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
