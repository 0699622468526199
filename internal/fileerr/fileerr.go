// Package fileerr shortens errors about files, so that users can read them.
//
// [Short] formats an error of package fs as path and cause, without the name of the system call.
// The result wraps the cause, so errors.Is still finds it. All other errors, and nil, are returned
// unchanged.
package fileerr

import (
	"errors"
	"fmt"
	"io/fs"
)

// Short formats an error about a file as "path: cause", without the name of the system call. It
// returns other errors unchanged.
func Short(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}
