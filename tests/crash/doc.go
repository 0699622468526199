// Package crash kills the real program repeatedly, while readings are written and tables are
// rotated.
package crash
