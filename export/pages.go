package export

import (
	"context"
	"errors"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

const (
	// pageReadings is the maximum number of readings of a page of a device. Up to pagesAhead+2 pages are in
	// memory.
	pageReadings = 20_000
	pagesAhead   = 2
	// pageTries is the maximum number of requests for a page. The server cuts off an answer in CSV if a new
	// field arrives after the header was sent. No reading of such an answer is added.
	pageTries = 3
)

// errIncomplete means that an answer was cut off.
var errIncomplete = errors.New("the answer is incomplete")

// page is a page of the readings of a device, as text.
type page struct {
	device string
	text   []byte // nil if the device was not found
	next   string // the cursor of the next page; "" after the last one
	// missing lists tables that were deleted, and more is the number of deleted tables whose names the server
	// did not return.
	missing []string
	more    int
}

// pageReader requests the pages of devices in order, before they are written. So the server and the export
// work at the same time.
type pageReader struct {
	client *client.Client
	query  client.Query
	limit  pageLimit
	format wire.Format
	pages  chan page
	spare  chan []byte // buffers of written pages, for reuse
	err    error       // valid after pages is closed
}

// readPages requests the pages of devices in the background, until the context ends. At first, r.query
// selects the first page of the first device. The caller must call the function "stop" at the end.
func readPages(ctx context.Context, r *pageReader, devices []string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.pages, r.spare = make(chan page, pagesAhead), make(chan []byte, pagesAhead+2)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(r.pages)
		r.err = r.requestPages(ctx, devices)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (r *pageReader) requestPages(ctx context.Context, devices []string) error {
	for _, device := range devices {
		r.query.Device = device
		for more := true; more; more = r.query.Cursor != "" {
			p, err := r.requestPage(ctx)
			if err != nil {
				return err
			}
			select {
			case r.pages <- p:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			r.query.Cursor = p.next
		}
	}
	return nil
}

// requestPage requests a page. It repeats the request if the answer is cut off or too long.
func (r *pageReader) requestPage(ctx context.Context) (p page, err error) {
	for tries := 1; ; tries++ {
		p, err = r.requestOnce(ctx)
		if errors.Is(err, errLongPage) {
			r.limit.reduce()
			tries = 0
		} else if !errors.Is(err, errIncomplete) || tries == pageTries {
			break
		}
	}
	r.limit.adapt(int64(len(p.text)))
	var noDevice *wire.NoDeviceError
	if errors.As(err, &noDevice) {
		// Return an empty page. A device that is not registered is not found once its last readings have
		// expired or were erased.
		return page{device: r.query.Device}, nil
	}
	if varve.FailureOf(err) == varve.NotFound {
		return p, fmt.Errorf("device %s: not found, but Varve did not answer so: check --server and proxies: %w", r.query.Device, err)
	}
	return p, err
}

func (r *pageReader) requestOnce(ctx context.Context) (p page, err error) {
	r.query.Limit = r.limit.readings
	resp, err := r.client.Raw(ctx, r.query, r.format)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var buffer []byte
	select {
	case buffer = <-r.spare:
	default:
	}
	p = page{device: r.query.Device}
	if p.text, err = readAnswer(resp.Body, buffer, r.limit.readings > 1); err == nil {
		p.next, err = client.NextOf(resp)
	}
	if err != nil {
		return p, err
	}
	cover, err := client.CoverageOf(resp)
	p.missing, p.more = cover.Missing, cover.MoreMissing
	return p, err
}

// release returns the buffer of a page. The page must not be used afterwards.
func (r *pageReader) release(p *page) {
	select {
	case r.spare <- p.text[:0]:
	default:
	}
}
