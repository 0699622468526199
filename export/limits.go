package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Bounds of the memory. Tests reduce them.
var (
	// maxPageBytes is the maximum size of a page in bytes. A larger page is requested once more with fewer
	// readings.
	maxPageBytes = int64(64 << 20)
	// maxHeldBytes is the size of collected readings at which their file is complete.
	maxHeldBytes = int64(256 << 20)
)

// errLongPage means that a page has more bytes than maxPageBytes.
var errLongPage = errors.New("the page is too long")

// pageLimit is the number of readings to request. It adapts to the size of the pages.
type pageLimit struct {
	readings int // maximum number of readings of the next page
	most     int // the largest number
}

func newPageLimit(most int) pageLimit { return pageLimit{most, most} }

// reduce requests fewer readings after a page that was too long.
func (l *pageLimit) reduce() { l.readings = max(1, l.readings/8) }

// adapt requests more readings after a short page.
func (l *pageLimit) adapt(bytes int64) {
	if bytes < maxPageBytes/4 {
		l.readings = min(2*l.readings, l.most)
	}
}

// readAnswer reads an answer to its end. It reuses the memory of the buffer. If the argument "bounded" is
// true, it fails with errLongPage after maxPageBytes. Callers do not bound a page of one reading.
func readAnswer(body io.Reader, buffer []byte, bounded bool) ([]byte, error) {
	b := bytes.NewBuffer(buffer[:0])
	if bounded {
		body = io.LimitReader(body, maxPageBytes+1)
	}
	if _, err := b.ReadFrom(body); err != nil {
		return b.Bytes(), fmt.Errorf("%w: %w", errIncomplete, err)
	}
	if bounded && int64(b.Len()) > maxPageBytes {
		return nil, errLongPage
	}
	return b.Bytes(), nil
}
