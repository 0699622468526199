package varvetest

import (
	"errors"
	"os"
	"syscall"
)

// memoryDir is a folder of Linux whose files are in memory. memoryFree is the free space in bytes
// that tests need there.
const (
	memoryDir  = "/dev/shm"
	memoryFree = 2 << 30
)

// InMemory calls the function "run", such as testing.M.Run, and ignores its result. If the machine has
// enough memory, temporary folders are in memory during that call.
//
// A kill has the same effect there as on a disk, but tests are faster. Tests of power cuts use a
// simulated file system instead.
func InMemory(run func() int) (err error) {
	var st syscall.Statfs_t
	if syscall.Statfs(memoryDir, &st) != nil || st.Bavail*uint64(st.Bsize) < memoryFree {
		run()
		return nil
	}
	dir, err := os.MkdirTemp(memoryDir, "varve-test-")
	if err != nil {
		run() // this user may not write to the folder
		return nil
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	run()
	return nil
}
