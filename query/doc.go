// Package query answers questions about one device at a time: which readings
// lie in a window, which is the latest, and what would it take to find out.
//
//	Plan   which tables overlap the window and can hold anything alive
//	Rows   reads them, merges by position, drops what has expired and copies
//	       of readings that were sent again in another month
//	Latest the newest tables first, and no more than needed
//
// Every answer says which tables it rests on: its Coverage. Tables that are
// gone or have expired make an answer smaller, not an error; a table that
// cannot be read makes an error.
package query
