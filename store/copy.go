package store

import "github.com/varvedb/varve"

// Copy is one stored copy of a reading. A reading has several copies if it was written in several
// arrival months or with different layouts.
type Copy struct {
	// Reading is valid only until the function that receives the Copy returns.
	Reading *varve.Reading
	// First means that no stored copy of the reading arrived earlier.
	First bool
}
