//go:build !unix

package outbox

// lockFolder does nothing: on this system, the operator must not start two agents with one folder.
func lockFolder(string) (unlock func() error, err error) { return func() error { return nil }, nil }
