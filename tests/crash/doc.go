// Package crash kills the real program, again and again, while it is written to
// and while its tables are rotated.
package crash
