// Package filelock locks files against other processes.
//
// A lock ends with its process. On systems without flock, the functions lock nothing, and the operator
// must not start two processes that use the same file.
package filelock

import "errors"

// ErrLocked means that another process has locked the file.
var ErrLocked = errors.New("another process has locked the file")
