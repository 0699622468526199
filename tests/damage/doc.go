// Package damage injures the files of embedded stores at random and checks
// that the damage is contained, found and repaired.
//
// Each case takes a copy of a store whose content is known, damages one of its
// files, and holds the store against that content:
//
//	open     starts, or refuses and names the damage
//	read     every reading and item is as it was written, or refused as damaged
//	verify   reports the damage and changes nothing
//	repair   plans without changing anything, then leaves a store that verifies
//	read     what is missing now lies in a range that the plan named
package damage
