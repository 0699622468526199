package wire

import "sync/atomic"

// Budget is an amount of memory that several batches share. If it is used up, batches do not wait.
// Instead, each batch is full with fewer readings. A Budget is safe for concurrent use.
type Budget struct{ left atomic.Int64 }

// NewBudget returns a budget of the given size in bytes.
func NewBudget(size int64) *Budget {
	b := new(Budget)
	b.left.Store(size)
	return b
}

func (b *Budget) reserve(n int64) bool {
	if b.left.Add(-n) >= 0 {
		return true
	}
	b.left.Add(n)
	return false
}

// shareStep is the size in bytes that each batch may have without using its budget. It is also
// the number of bytes that a batch reserves from the budget at a time.
const shareStep = 256 << 10

// share is the part of a budget that a batch has reserved.
type share struct {
	of   *Budget
	most int // maximum size of the batch at present, in bytes
}

// Share attaches an empty batch to a budget. If "of" is nil, the batch has no budget.
func (b *Batch) Share(of *Budget) {
	b.share.giveBack()
	b.share = share{of: of}
}

// covers reports whether a batch of the given size may grow. It reserves more memory if needed.
func (s *share) covers(size int) bool {
	for {
		switch {
		case size >= BatchBytes:
			return false
		case s.most == 0:
			s.most = shareStep
		case size <= s.most:
			return true
		case s.of != nil && !s.of.reserve(shareStep):
			return false
		default:
			s.most += shareStep
		}
	}
}

func (s *share) giveBack() {
	if s.of != nil && s.most > shareStep {
		s.of.left.Add(int64(s.most - shareStep))
	}
	s.most = 0
}
