// Package fileerr words errors about files for users.
package fileerr

import (
	"errors"
	"fmt"
	"io/fs"
)

// Short returns an error about a file as "path: cause", without the system call.
// It returns other errors unchanged.
func Short(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}
