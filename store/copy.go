package store

import "github.com/varvedb/varve"

// Copy is one stored copy of a reading. A reading has several copies if it was written in several
// arrival months or with different layouts.
type Copy struct {
	// Reading is valid only until the function that receives the copy returns.
	Reading *varve.Reading
	// First reports that no other stored copy arrived earlier.
	First bool
}
