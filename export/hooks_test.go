package export

// SetBounds changes the bounds of the memory, and returns a function that restores them.
func SetBounds(page, held int64) (restore func()) {
	oldPage, oldHeld := maxPageBytes, maxHeldBytes
	maxPageBytes, maxHeldBytes = page, held
	return func() { maxPageBytes, maxHeldBytes = oldPage, oldHeld }
}
