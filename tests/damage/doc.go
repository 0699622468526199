// Package damage damages the files of embedded stores at random.
//
// It checks that the damage is contained, found and repaired. Each test case copies a store with
// known contents, damages one file, and then does the following:
//
//	open     must succeed, or must fail with an error about damage that names varve repair
//	read     must return every reading and item unchanged, or refuse it as damaged
//	verify   must find damage if a table of Pebble has changed or a read is refused, and must
//	         change nothing
//	doctor   must report a problem exactly if verify found one, and must change nothing
//	repair   must report its losses, and leave a store in which verify finds no damage
//	read     may lack only data in a reported loss, or in the journal's torn end
package damage
