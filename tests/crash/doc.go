// Package crash repeatedly kills the real program while clients write readings and the rotator runs.
package crash
