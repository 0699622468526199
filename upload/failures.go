package upload

import (
	"errors"
	"fmt"
)

// maxFailures is the maximum number of files that an error names.
const maxFailures = 10

// failures are the errors about files that could not be read. The other files are sent.
type failures struct {
	errs []error // the first ones, each a FileError
	more int     // number of further ones
}

// add records that a source could not be read.
func (f *failures) add(s *Source, err error) {
	s.failed = true
	if len(f.errs) == maxFailures {
		f.more++
		return
	}
	f.errs = append(f.errs, &FileError{s.Path, err})
}

// err returns the errors, or nil if all files could be read.
func (f *failures) err() error {
	switch {
	case f.more > 0:
		return errors.Join(append(f.errs[:maxFailures:maxFailures], fmt.Errorf("%d more files could not be read", f.more))...)
	case len(f.errs) == 1:
		return f.errs[0]
	}
	return errors.Join(f.errs...)
}
