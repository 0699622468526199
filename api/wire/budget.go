package wire

import "sync/atomic"

// Budget is memory that many batches share. A batch that finds none left is
// full early: it is written as small as it is, and waits for nobody. A Budget
// is safe for concurrent use.
type Budget struct{ left atomic.Int64 }

// NewBudget returns a budget of so many bytes.
func NewBudget(size int64) *Budget {
	b := new(Budget)
	b.left.Store(size)
	return b
}

func (b *Budget) take(n int64) bool {
	if b.left.Add(-n) >= 0 {
		return true
	}
	b.left.Add(n)
	return false
}

// shareStep is what a batch may hold of its own, and how much more it takes
// from the budget at a time.
const shareStep = 256 << 10

// share is a batch's part of a budget.
type share struct {
	of   *Budget
	most int // bytes that the batch may hold without asking
}

// Share makes the batch take its memory from a budget; nil is one of its own.
// The batch is empty.
func (b *Batch) Share(of *Budget) {
	b.share.giveBack()
	b.share = share{of: of}
}

// covers reports whether a batch of a size may take more.
func (s *share) covers(size int) bool {
	for {
		switch {
		case size >= BatchBytes:
			return false
		case s.most == 0:
			s.most = shareStep
		case size <= s.most:
			return true
		case s.of != nil && !s.of.take(shareStep):
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
