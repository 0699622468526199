// Package damage damages the files of embedded stores at random. It checks that the damage is
// contained, found and repaired.
//
// Each case copies a store with known contents, damages one file, and compares:
//
//	open     starts, or refuses and names the damage
//	read     every reading and item is unchanged, or refused as damaged
//	verify   reports every changed table of Pebble and all refused data, and changes nothing
//	repair   plans without changes, then leaves a store that verifies
//	read     missing data is in a range of the plan, or in the journal's torn end
package damage
