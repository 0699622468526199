package varvetest

import (
	"errors"
	"os"
	"syscall"
)

// memoryDir is a folder in memory on Linux, and memoryFree its room that is enough.
const (
	memoryDir  = "/dev/shm"
	memoryFree = 2 << 30
)

// InMemory calls run with the tests' temporary folders in memory, if the machine
// has room there. A kill leaves the same there as on a disk, without waiting for
// one. Tests of power cuts have a file system of their own.
func InMemory(run func() int) (err error) {
	var st syscall.Statfs_t
	if syscall.Statfs(memoryDir, &st) != nil || st.Bavail*uint64(st.Bsize) < memoryFree {
		run()
		return nil
	}
	dir, err := os.MkdirTemp(memoryDir, "varve-test-")
	if err != nil {
		run() // not writable for this user
		return nil
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	run()
	return nil
}
