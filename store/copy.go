package store

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// Copy is one stored copy of a reading. A reading can have several copies if it was written in
// several arrival months or with different layouts.
type Copy struct {
	// Reading is valid only until the function that receives the Copy returns.
	Reading *varve.Reading
	// First means that no stored copy of the reading arrived earlier.
	First bool
	// Versioned means that the reading has a version, or that a version of the reading follows.
	Versioned bool
}

// CopyScanner receives the copies of the readings of a series, in the order of their positions. An
// error ends the scan.
type CopyScanner interface {
	// Copy receives one copy.
	Copy(Copy) error
	// Columns receives readings that have one copy each and no versions, in ascending order. They are
	// valid only until Columns returns.
	Columns(*block.Part) error
}

// CopyFunc is a [CopyScanner] that receives all copies one by one.
type CopyFunc func(Copy) error

// Copy implements CopyScanner.
func (f CopyFunc) Copy(c Copy) error { return f(c) }

// Columns implements CopyScanner.
func (f CopyFunc) Columns(p *block.Part) error {
	var r varve.Reading
	for k := range p.Len() {
		p.Fill(p.Row(k), &r)
		if err := f(Copy{Reading: &r, First: true}); err != nil {
			return err
		}
	}
	return nil
}
