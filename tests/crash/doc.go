// Package crash repeatedly kills the real program while readings are written and tables are
// rotated.
package crash
