package upload

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// pieceBytes is the approximate size of a piece, before compression.
const pieceBytes = 1 << 20

// Options configures an upload. Client is required.
type Options struct {
	Client      *client.Client
	Server      string     // the address of the client's server, for the checkpoint
	Params      url.Values // the parameters of each write, as in the API, without the device
	Parallel    int        // number of pieces that are sent at a time; 0 means 1
	Batch       int        // maximum number of readings in a piece, up to wire.MaxRejects; 0 means wire.BatchReadings
	Compression string     // compression of pieces: none, gzip or zstd; empty means none
	Checkpoint  string     // the file that records the progress; if empty, progress is not recorded
	// Reconcile compares the files with the store first, and sends only the hours that differ.
	Reconcile bool
	Events    Events
}

// Events has callbacks for the progress of an upload. Calls never overlap. A nil callback is not called.
type Events struct {
	Restarted  func(path, reason string) // a file that an earlier run sent is resent from its start
	Unfinished func(path string)         // the last reading of a file may be incomplete: the next run sends it
	Rejected   func(Rejection)           // a reading was rejected, and will not be resent
	Progress   func(bytes int64)         // bytes of files on disk were sent or skipped
}

// Result is the summary of an upload.
type Result struct {
	wire.Tally
	Conflicts int64 // number of readings that were rejected, because the same identity is stored with other values
	Resumed   int64 // number of readings that an earlier run sent
	// Present is the number of readings that a reconciliation did not send. Their hours do not differ
	// from the store, or are in ExpiredPeriods.
	Present int64
	// ExpiredPeriods is the number of days and hours that differ, but whose readings may have expired, or were
	// erased. They were not sent.
	ExpiredPeriods int64
	// SkippedCells is the number of cells that were omitted, because they are not values.
	SkippedCells int64
	// TextNumbers is the number of cells that look like numbers, such as 1,50, and were read as text.
	TextNumbers int64
}

// Upload sends sources to a server.
type Upload struct {
	opts       Options
	columns    wire.Columns
	encoding   compression
	sources    []Source
	checkpoint *checkpoint
	tenant     string                     // tenant of the client's key, for the checkpoint; "" means unknown
	compared   map[seriesName]*comparison // chooses the readings to send; if nil, all readings are sent
	failures   failures

	mu     sync.Mutex // guards result, and is locked during calls of Events
	result Result
}

// ErrInterrupted reports that the context of a run was canceled.
var ErrInterrupted = errors.New("interrupted")

// New checks the options and opens the checkpoint. It sends nothing.
func New(o Options, sources []Source) (*Upload, error) {
	o.Parallel, o.Batch = max(o.Parallel, 1), max(o.Batch, 0)
	if o.Batch == 0 {
		o.Batch = wire.BatchReadings
	}
	o.Batch = min(o.Batch, wire.MaxRejects) // so that an answer lists all rejections
	u := &Upload{opts: o, sources: sources}
	switch o.Compression {
	case "", "none":
	case string(gzipped), string(zstded):
		u.encoding = compression(o.Compression)
	default:
		return nil, varve.InvalidParam("compress", "%q is unknown: use none, gzip or zstd", o.Compression)
	}
	if o.Checkpoint != "" && slices.ContainsFunc(sources, func(s Source) bool { return s.stdin != nil }) {
		return nil, varve.InvalidParam("checkpoint", "not possible for standard input: name files")
	}
	if o.Reconcile {
		if err := checkReconcile(&o, sources); err != nil {
			return nil, err
		}
	}
	var err error
	if u.columns, err = wire.ParseColumns(o.Params); err != nil {
		return nil, err
	}
	if err := checkFormats(o.Params, sources); err != nil {
		return nil, err
	}
	u.checkpoint, err = openCheckpoint(o.Checkpoint)
	return u, err
}

// csvParams are the parameters that only affect CSV.
var csvParams = []string{
	"time_column", "device_column", "id_column", "columns", "types", "delimiter", "name_column", "value_column", "device_columns", "null", "decimal", "bad_cells",
}

// checkFormats rejects parameters that would have no effect.
func checkFormats(params url.Values, sources []Source) error {
	has := func(formats ...wire.Format) bool {
		return slices.ContainsFunc(sources, func(s Source) bool { return slices.Contains(formats, s.format) })
	}
	for _, name := range csvParams {
		if params.Get(name) != "" && !has(wire.CSV) {
			return varve.InvalidParam(name, "only for CSV, and no file is CSV: omit it")
		}
	}
	if params.Get("fields") == "flat" && !has(wire.JSON, wire.NDJSON) {
		return varve.InvalidParam("fields", "flat is only for JSON, and no file is JSON: omit it")
	}
	if params.Get("dst") != "" && params.Get("timezone") == "" {
		return varve.InvalidParam("dst", "requires timezone: name the zone of local times")
	}
	return nil
}

// Size returns the number of bytes on disk of all files whose size is known.
func (u *Upload) Size() (total int64) {
	for i := range u.sources {
		total += u.sources[i].size
	}
	return total
}

// Resumes reports whether the checkpoint has entries of an earlier run.
func (u *Upload) Resumes() bool { return u.checkpoint.hasEntries() }

// Close saves the checkpoint.
func (u *Upload) Close() error { return u.checkpoint.flush() }

// Run sends all files one after another, several pieces at a time. The result is valid even if
// Run fails.
func (u *Upload) Run(ctx context.Context) (Result, error) {
	err := u.prepare(ctx)
	if err == nil {
		err = u.sendAll(ctx)
	}
	if ctx.Err() != nil {
		err = interruption(ctx, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.result, err
}

// prepare asks the server for the facts that the upload needs before the first piece.
func (u *Upload) prepare(ctx context.Context) error {
	if u.opts.Reconcile {
		return u.findMissing(ctx)
	}
	if u.checkpoint == nil {
		return nil
	}
	grant, err := u.opts.Client.Grant(ctx)
	if varve.FailureOf(err) == varve.NotFound {
		return nil // an agent does not know the tenant
	}
	u.tenant = grant.Tenant
	return err
}

// interruption returns the error of a run whose context has ended.
func interruption(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.Canceled):
		return ErrInterrupted
	case errors.Is(err, cause):
		return err // err wraps the cause, and also names the request that was ended
	}
	return cause
}

// sendAll sends all files. If a file cannot be read, it continues with the next one, and returns the errors at
// the end.
func (u *Upload) sendAll(ctx context.Context) error {
	g, sending := errgroup.WithContext(ctx)
	g.SetLimit(u.opts.Parallel)
	for i := range u.sources {
		s := &u.sources[i]
		if s.failed {
			continue // prepare could not read it
		}
		err := u.sendFile(sending, g, s)
		if sending.Err() != nil {
			break // a piece failed, or ctx ended: the cause is found below
		}
		if err != nil {
			u.failures.add(s, err)
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return u.failures.err()
}

// sendFile cuts one file into pieces and starts to send them.
func (u *Upload) sendFile(ctx context.Context, g *errgroup.Group, s *Source) (err error) {
	r, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	changing := false
	if u.checkpoint != nil {
		if changing, err = s.endAtLine(r); err != nil {
			return err
		}
	}
	pieces, err := wire.NewSplitter(s.format, r, u.columns, u.opts.Batch, pieceBytes)
	if err != nil {
		return err
	}
	if changing {
		pieces.OmitOpenRow()
	}
	device := s.deviceParam(pieces.Names(), u.columns)
	defaults := wire.Defaults{Device: device}
	if u.opts.Params.Get("time") == "arrival" {
		defaults.Arrival = time.Now()
	}
	if err := s.checkColumns(pieces.Names(), u.columns, defaults); err != nil {
		return err
	}
	f := &fileSender{upload: u, source: s, settings: u.settings(s), params: u.params(device)}
	if err := f.resume(r, pieces); err != nil {
		return err
	}
	sent := s.prefixOf(r, &u.columns)
	for n := 0; ctx.Err() == nil; n++ {
		p, err := pieces.Next()
		if errors.Is(err, io.EOF) {
			if changing && pieces.At().Offset < s.size {
				u.unfinished(s.Path)
			}
			return nil
		}
		if err != nil {
			return err
		}
		u.checkpoint.begin(s, n, pieces.At(), sent)
		g.Go(func() error { return f.send(ctx, n, p) })
	}
	return nil // the context has ended, and the caller returns the cause
}

func (u *Upload) params(device string) url.Values {
	v := url.Values{}
	for name := range u.opts.Params {
		if value := u.opts.Params.Get(name); value != "" {
			v.Set(name, value)
		}
	}
	if device != "" {
		v.Set("device", device)
	}
	return v
}

// settings returns the server, the tenant and the parameters of a source, as the checkpoint stores them. If one of
// them changes, the file must be resent.
func (u *Upload) settings(s *Source) map[string]string {
	all := map[string]string{
		"--server": strings.TrimSuffix(u.opts.Server, "/"), "the tenant": u.tenant, "the stream": s.Stream, "the format": s.format.String(),
	}
	for name := range u.opts.Params {
		if value := u.opts.Params.Get(name); value != "" {
			all["--"+strings.ReplaceAll(name, "_", "-")] = value
		}
	}
	if s.deviceGiven {
		all["--device"] = s.device
	}
	return all
}

func (u *Upload) restarted(path, reason string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.opts.Events.Restarted != nil {
		u.opts.Events.Restarted(path, reason)
	}
}

// unfinished reports that the last reading of a file is not sent by this run.
func (u *Upload) unfinished(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.opts.Events.Unfinished != nil {
		u.opts.Events.Unfinished(path)
	}
}

func (u *Upload) resumed(readings, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.result.Resumed += readings
	u.progress(bytes)
}

// count adds verdicts, and the bytes on disk of their readings.
func (u *Upload) count(t wire.Tally, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.result.Add(t)
	u.progress(bytes)
}

// countCells counts the cells that the server omitted, or read as text.
func (u *Upload) countCells(a *wire.WriteAnswer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.result.SkippedCells += a.SkippedCells
	u.result.TextNumbers += a.TextNumbers
}

// progress reports bytes. The caller must have locked u.mu.
func (u *Upload) progress(bytes int64) {
	if u.opts.Events.Progress != nil {
		u.opts.Events.Progress(bytes)
	}
}

// reject reports a rejection, and counts it if it is a conflict.
func (u *Upload) reject(r Rejection) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if varve.Code(r.Code) == varve.CodeConflict {
		u.result.Conflicts++
	}
	if u.opts.Events.Rejected != nil {
		u.opts.Events.Rejected(r)
	}
}
