// Package damage damages the files of embedded stores at random. It checks that the damage is
// contained, found and repaired.
//
// Each test case copies a store with known contents, damages one file, and then does the
// following:
//
//	open     must start, or must refuse and name the damage
//	read     must return every reading and item unchanged, or refuse it as damaged
//	verify   must report every changed table of Pebble and all refused data, and must change nothing
//	doctor   must report a problem exactly if verify found one, and must change nothing
//	repair   must plan without a change, and then leave a store that verifies
//	read     may lack only data in a range of the plan, or in the journal's torn end
package damage
