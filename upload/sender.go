package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// maxRetries is the maximum number of times that readings are resent after a temporary rejection.
const maxRetries = 6

// fileSender sends the pieces of one file. Its method "send" may be called concurrently.
type fileSender struct {
	upload   *Upload
	source   *Source
	settings map[string]string
	params   url.Values
}

// resume skips the readings that an earlier run sent.
func (f *fileSender) resume(r *file, pieces *wire.Splitter) error {
	at, changed, ok := f.upload.checkpoint.resume(f.source, f.settings, f.source.prefixOf(r, &f.upload.columns))
	if changed != "" {
		f.upload.restarted(f.source.Path, changed)
	}
	if !ok {
		return nil
	}
	if err := pieces.Skip(r.seekable(), at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	f.upload.resumed(at.Readings, f.source.sizeOnDisk(at.Offset))
	return nil
}

// send sends piece n until each of its readings has a verdict, and records that in the checkpoint.
func (f *fileSender) send(ctx context.Context, n int, p wire.Piece) error {
	for _, r := range p.Rejects {
		f.upload.reject(Rejection{
			File: f.source.Path, Index: r.Index, Line: r.Line, Code: string(r.Verdict.Code), Message: r.Verdict.Message,
		})
	}
	f.upload.count(wire.Tally{Rejected: int64(len(p.Rejects))}, 0)
	if f.upload.compared != nil {
		var err error
		if p, err = f.onlyMissing(&p); err != nil {
			return err
		}
	}
	if err := f.deliver(ctx, p); err != nil {
		return err
	}
	return f.upload.checkpoint.finish(f.source, n, f.settings)
}

// deliver sends a piece until each of its readings has a verdict.
func (f *fileSender) deliver(ctx context.Context, p wire.Piece) error {
	retried := int64(0)
	for try := 0; p.Len() > 0; try++ {
		body, err := f.body(&p)
		if err != nil {
			return err
		}
		answer, err := f.upload.opts.Client.Write(ctx, f.source.Stream, body)
		if err != nil {
			return &FileError{f.source.Path, err}
		}
		recounted := int64(0)
		if f.reshaped() {
			// A resent row may also have readings that an earlier answer counted. Subtract them from the
			// duplicates. Otherwise they would be counted twice.
			if try > 0 {
				recounted = answer.Stored + answer.Duplicates + answer.Rejected + answer.Queued - retried
			}
			f.placeByLine(&p, &answer)
		}
		if answer.Truncated {
			return f.deliverHalves(ctx, &p, answer.Stored, recounted)
		}
		answer.Duplicates -= recounted
		if try == 0 {
			f.upload.countCells(&answer)
		}
		retry := f.verdicts(&p, answer, try < maxRetries)
		if len(retry) == 0 {
			break
		}
		retried = int64(len(retry))
		p = p.Only(slices.Compact(retry))
		select {
		case <-time.After(time.Second << min(try, 4)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), answer.Rejects[0].Message)
		}
	}
	return nil
}

// deliverHalves resends a piece whose answer does not list all rejections. A rejection that is not listed may be
// temporary. The readings that this answer stored are duplicates in later answers, so their number is
// subtracted from the duplicates.
func (f *fileSender) deliverHalves(ctx context.Context, p *wire.Piece, stored, recounted int64) error {
	if p.Len() == 1 {
		return &FileError{f.source.Path, errors.New("the answer does not list all rejected readings: send rows with fewer columns")}
	}
	f.upload.count(wire.Tally{Stored: stored, Duplicates: -stored - recounted}, 0)
	all := make([]int, p.Len())
	for i := range all {
		all[i] = i
	}
	for half := range slices.Chunk(all, (len(all)+1)/2) {
		if err := f.deliver(ctx, p.Only(half)); err != nil {
			return err
		}
	}
	return nil
}

// reshaped reports whether the source may have rows that do not stand for exactly one reading.
func (f *fileSender) reshaped() bool {
	return f.source.format == wire.CSV && f.upload.columns.IsReshaped()
}

// placeByLine sets the index of each rejection to the index of the rows in the piece that contain its
// line.
func (f *fileSender) placeByLine(p *wire.Piece, a *wire.WriteAnswer) {
	for i := range a.Rejects {
		if at := p.AtLine(a.Rejects[i].Line); at >= 0 {
			a.Rejects[i].Index = int64(at)
		}
	}
}

func (f *fileSender) body(p *wire.Piece) (client.Body, error) {
	b := client.Body{Data: p.Data, Format: f.source.format.PieceFormat(), Params: f.params}
	c := f.upload.encoding
	if c == "" {
		return b, nil
	}
	var err error
	b.Encoding = string(c)
	b.Data, err = c.compress(p.Data)
	return b, err
}

// verdicts counts the verdicts on a piece and reports its rejections. If mayRetry is set, it
// returns the indexes of temporary rejections, and neither counts nor reports these.
func (f *fileSender) verdicts(p *wire.Piece, a wire.WriteAnswer, mayRetry bool) (retry []int) {
	t := wire.Tally{Stored: a.Stored, Duplicates: a.Duplicates, Rejected: a.Rejected, Queued: a.Queued}
	for i := range a.Rejects {
		r := &a.Rejects[i]
		if mayRetry && varve.Code(r.Code).Retryable() {
			retry = append(retry, int(r.Index))
			t.Rejected--
			continue
		}
		f.upload.reject(rejectionOf(f.source.Path, p, r))
	}
	bytes := int64(0)
	if len(retry) == 0 {
		bytes = f.source.sizeOnDisk(int64(len(p.Data) - p.Begin))
	}
	f.upload.count(t, bytes)
	return retry
}
