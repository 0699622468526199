package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/reconcile"
)

// seriesName is a series of the client's tenant.
type seriesName struct{ stream, device string }

// comparison is the result of the comparison of one series with the store.
type comparison struct {
	set     *reconcile.Set // the compared readings
	missing map[int64]bool // starts of the hours that differ, in Unix seconds
}

// hasStored reports whether a reading was compared, and its hour does not differ. A file may have grown since the
// comparison.
func (c *comparison) hasStored(r *varve.Reading) bool {
	return c != nil && !c.missing[r.Time.Truncate(time.Hour).Unix()] && c.set.Contains(r)
}

// checkReconcile rejects uploads that cannot be reconciled. The client must know the times and the devices
// of all readings, and must be able to read each source twice. A checkpoint is rejected, too.
func checkReconcile(o *Options, sources []Source) error {
	for i := range sources {
		switch s := &sources[i]; {
		case s.stdin != nil:
			return varve.InvalidParam("reconcile", "not possible for standard input: name files")
		case s.format == wire.Line:
			return varve.InvalidParam("reconcile", "not possible for line protocol, which the server maps: omit it")
		}
	}
	switch {
	case o.Params.Get("time") == "arrival":
		return varve.InvalidParam("reconcile", "not possible with time arrival: omit one")
	case o.Checkpoint != "":
		return varve.InvalidParam("reconcile", "excludes checkpoint: omit one")
	}
	return nil
}

// findMissing reads all files, and asks the server for the hours that differ. It skips a file that cannot be
// read, and so does sendAll.
func (u *Upload) findMissing(ctx context.Context) error {
	sets := map[seriesName]*reconcile.Set{}
	for i := range u.sources {
		s := &u.sources[i]
		err := u.addFile(ctx, s, sets)
		if err != nil && ctx.Err() != nil {
			return &FileError{s.Path, err}
		}
		if err != nil {
			u.failures.add(s, err)
		}
	}
	u.compared = map[seriesName]*comparison{}
	for name, set := range sets {
		hours, expired, err := u.opts.Client.MissingHours(ctx, name.stream, name.device, set)
		if err != nil {
			return fmt.Errorf("compare device %s: %w", name.device, err)
		}
		u.result.ExpiredPeriods += int64(expired)
		c := &comparison{set: set, missing: make(map[int64]bool, len(hours))}
		for _, h := range hours {
			c.missing[h.Unix()] = true
		}
		u.compared[name] = c
	}
	return nil
}

// addFile adds the readings of a file to the sets of their series.
func (u *Upload) addFile(ctx context.Context, s *Source, sets map[seriesName]*reconcile.Set) (err error) {
	r, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	pieces, err := wire.NewSplitter(s.format, r, u.columns, u.opts.Batch, pieceBytes)
	if err != nil {
		return err
	}
	device := s.deviceParam(pieces.Names(), u.columns)
	if err := s.checkColumns(pieces.Names(), u.columns, wire.Defaults{Device: device}); err != nil {
		return err
	}
	params := u.params(device)
	for ctx.Err() == nil {
		p, err := pieces.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = s.readings(&p, params, func(_ int, r *varve.Reading) {
			if r == nil {
				return
			}
			name := seriesName{r.Stream, r.Device}
			if sets[name] == nil {
				sets[name] = &reconcile.Set{}
			}
			sets[name].Add(r)
		})
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// readings calls the function "use" for each reading of a piece, with the index of the reading in the
// piece. For an invalid reading, r is nil.
func (s *Source) readings(p *wire.Piece, params url.Values, use func(i int, r *varve.Reading)) error {
	d := wire.Defaults{Tenant: varve.DefaultTenant, Stream: s.Stream}
	columns, _, err := wire.ParseParams(params, &d)
	if err != nil {
		return err
	}
	in, err := wire.NewReader(new(wire.Memory), s.format.PieceFormat(), bytes.NewReader(p.Data), d, columns)
	if err != nil {
		return err
	}
	reshaped := s.format == wire.CSV && columns.IsReshaped()
	var b wire.Batch
	for n := 0; ; n += b.Len() {
		b.Reset()
		err := in.Read(&b)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		for i := range b.Readings {
			at := n + i
			if reshaped {
				at = p.AtLine(int64(b.Lines[i]))
			}
			r := &b.Readings[i]
			if b.Verdicts[i].Outcome != 0 || r.NormalizeNew().Outcome == varve.Rejected {
				r = nil
			}
			use(at, r)
		}
		if ended {
			return nil
		}
	}
}

// onlyMissing returns the readings of a piece that must be sent: readings in hours that differ, readings that
// were not compared, and invalid readings, which the server rejects. It counts the other readings as present.
func (f *fileSender) onlyMissing(p *wire.Piece) (wire.Piece, error) {
	wanted := make([]bool, p.Len())
	err := f.source.readings(p, f.params, func(i int, r *varve.Reading) {
		if i < 0 || i >= len(wanted) {
			return
		}
		if r == nil || !f.upload.compared[seriesName{r.Stream, r.Device}].hasStored(r) {
			wanted[i] = true
		}
	})
	if err != nil {
		return *p, &FileError{f.source.Path, err}
	}
	var which []int
	for i, is := range wanted {
		if is {
			which = append(which, i)
		}
	}
	f.upload.countPresent(int64(p.Len()-len(which)), f.source.sizeOnDisk(int64(len(p.Data)-p.Begin)))
	return p.Only(which), nil
}

// countPresent counts readings that a reconciliation does not send: see Result.Present.
func (u *Upload) countPresent(readings, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.result.Present += readings
	if u.opts.Events.Progress != nil && readings > 0 {
		u.opts.Events.Progress(bytes)
	}
}
