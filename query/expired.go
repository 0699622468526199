package query

// expiredCount counts the expired readings that an answer leaves out. An expired reading after the
// last returned one belongs to the next page, which reads it once more.
type expiredCount struct {
	passed  int   // number of expired readings before the last returned reading
	pending int   // number of later expired readings, before the current batch
	among   []int // for each expired reading within the current batch, the number of readings of the batch before it
}

// add counts an expired reading. The argument "readings" is the number of readings of the current
// batch before it.
func (c *expiredCount) add(readings int) {
	if readings == 0 {
		c.pending++
		return
	}
	c.among = append(c.among, readings)
}

// endBatch assigns the expired readings of the current batch to passed or pending. The argument
// "readings" is the number of readings of the batch that the answer includes.
func (c *expiredCount) endBatch(readings int) {
	if readings > 0 {
		c.passed, c.pending = c.passed+c.pending, 0
	}
	for _, before := range c.among {
		if before < readings {
			c.passed++
		} else {
			c.pending++
		}
	}
	c.among = c.among[:0]
}

// upTo returns the number of expired readings that belong to the answer. If more readings follow
// in another page, it excludes those after the last returned one.
func (c *expiredCount) upTo(more bool) int {
	if more {
		return c.passed
	}
	return c.passed + c.pending
}
