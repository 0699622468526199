package export

import (
	"context"
	"errors"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
)

// copyChanges copies the changes since the cursor in the state. They include all readings that were
// acknowledged before the run, unless their arrivals do not settle.
func (e *exporter) copyChanges(ctx context.Context) error {
	settle, unsettled := settleWithin, false
	for {
		p, err := e.copyChangesPage(ctx, settle)
		if isUnsettled(err) {
			settle, unsettled = 0, true
			continue
		}
		if err != nil {
			return err
		}
		e.done.Cursor, settle = p.Next, 0
		if !p.More {
			if unsettled {
				e.SettledUntil = p.Settled
			}
			break
		}
		if err := e.endFullFile(); err != nil {
			return err
		}
		e.report()
	}
	return e.endFile()
}

// copyChangesPage adds the next page of changes to the current file.
func (e *exporter) copyChangesPage(ctx context.Context, settle time.Duration) (p client.ChangesPage, err error) {
	out, before := e.output(), e.output().n
	defer func() { e.Readings += out.n - before }()
	for {
		var size int64
		p, size, err = e.addChanges(ctx, settle)
		if !errors.Is(err, errLongPage) {
			e.changesLimit.adapt(size)
			return p, err
		}
		e.changesLimit.reduce()
	}
}

// addChanges adds a page of changes to the current file, and returns its size in bytes. It fails with
// errLongPage, and adds nothing, if the page is too long.
func (e *exporter) addChanges(ctx context.Context, settle time.Duration) (p client.ChangesPage, size int64, err error) {
	out, limit := e.output(), e.changesLimit.readings
	q := client.ChangesQuery{Stream: e.o.Stream, Since: e.done.Cursor, Limit: limit, Settle: settle}
	if e.o.Format == Parquet {
		before := out.collected()
		p, err = e.o.Client.ReadChanges(ctx, q, func(r *varve.Reading) error {
			if size += int64(r.Size()); size > maxPageBytes && limit > 1 {
				return errLongPage
			}
			return out.addUnsorted(r)
		})
		if errors.Is(err, errLongPage) {
			out.resetTo(before)
		}
		return p, size, err
	}
	resp, err := e.o.Client.RawChanges(ctx, q, e.wire())
	if err != nil {
		return p, 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	text, err := readAnswer(resp.Body, nil, limit > 1)
	if err == nil {
		err = out.addText(text, "")
	}
	if err != nil {
		return p, 0, err
	}
	p, err = client.PageOf(resp)
	return p, int64(len(text)), err
}
