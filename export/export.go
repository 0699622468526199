package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/fileerr"
	"github.com/varvedb/varve/internal/filelock"
)

const (
	// lineReadings is the number of readings at which a file of NDJSON is complete.
	lineReadings = 2_000_000
	// groupReadings is the number of readings at which a Parquet file of the first copy is complete. Such
	// a file has several row groups.
	groupReadings = 1_000_000
	// wholeReadings is the number of readings at which other files are complete. These readings are
	// collected in memory.
	wholeReadings = 200_000
	// changesReadings is the maximum number of readings of a request for changes.
	changesReadings = 100_000
)

// Options configure an export. Client, Stream, Dir and Format are required.
type Options struct {
	Client *client.Client
	Stream string
	Dir    string // the folder of the files
	Format Format
	// State is the file with the progress. If empty, a run copies all readings and cannot be resumed.
	State string
	// RegisteredOnly omits devices that are not registered from the first copy. Otherwise, the server
	// enumerates the series of all tables of the stream, which costs a scan of these tables on DynamoDB.
	RegisteredOnly bool
	// FileReadings is the number of readings at which a file is complete. 0 means a default.
	FileReadings int
	// Progress, if set, is called after each page of readings, except the last page of changes. Run
	// returns the final counts.
	Progress func(Progress)
}

// Progress counts the exported readings.
type Progress struct {
	Readings     int
	Devices      int // number of devices that are copied completely
	TotalDevices int // number of devices to copy in the first copy; 0 while changes are copied
	Files        int
	Bytes        int64 // bytes of the complete files
	IsFirstCopy  bool  // if true, the run makes the first copy; otherwise, it copies changes
	// Missing lists deleted tables, whose readings the first copy lacks. MoreMissing is the minimum number of
	// further such tables, whose names the server did not return.
	Missing     []string
	MoreMissing int
	// SettledUntil is not zero if arrivals did not settle within settleWithin. Then a later run copies the
	// readings that arrived at or after this time.
	SettledUntil time.Time
}

type exporter struct {
	o    Options
	done state
	out  *output
	// batch holds readings of a page while decodePage adds them to a Parquet file.
	batch        wire.Batch
	changesLimit pageLimit
	Progress
}

// Run copies the readings that were not copied by earlier runs with the same state. It fails if another run copies
// the stream to the same folder.
func Run(ctx context.Context, o Options) (_ Progress, err error) {
	e := &exporter{o: o, done: state{Stream: o.Stream, Format: string(o.Format)}}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return e.Progress, fileerr.Short(err)
	}
	unlock, err := filelock.LockTemporary(filepath.Join(o.Dir, "."+o.Stream+".lock"))
	if errors.Is(err, filelock.ErrLocked) {
		err = fmt.Errorf("another export of stream %s to %s is running: wait for its end", o.Stream, o.Dir)
	}
	if err != nil {
		return e.Progress, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	err = e.copyReadings(ctx)
	if e.out != nil {
		err = errors.Join(err, e.out.abandon())
	}
	return e.Progress, err
}

func (e *exporter) copyReadings(ctx context.Context) error {
	resumes, err := e.done.load(e.o.State)
	if err != nil {
		return err
	}
	if !resumes {
		if err := e.begin(ctx); err != nil {
			return err
		}
	}
	if e.o.FileReadings == 0 {
		e.o.FileReadings = e.fileReadings()
	}
	if e.done.IsFirstCopy {
		return e.copyDevices(ctx)
	}
	e.changesLimit = newPageLimit(min(changesReadings, e.o.FileReadings))
	return e.copyChanges(ctx)
}

// fileReadings returns the default number of readings at which a file is complete.
func (e *exporter) fileReadings() int {
	switch {
	case e.o.Format == NDJSON:
		return lineReadings
	case e.o.Format == Parquet && e.done.IsFirstCopy:
		return groupReadings
	default:
		return wholeReadings
	}
}

// begin begins the first copy, which has the readings that arrived before the settled time. In two cases, a
// run without a state file copies all readings instead:
//
//   - The stream has no index by arrival. With a state file, begin fails.
//   - Arrivals do not settle. With a state file, the first copy has the settled readings.
func (e *exporter) begin(ctx context.Context) error {
	if old, err := findFiles(e.o.Dir, regexp.QuoteMeta(e.o.Stream)+`-[0-9]{6}\.`); err != nil || len(old) > 0 {
		return errors.Join(err, fmt.Errorf("%s has files of another export: use the --since file of that export, or another folder", e.o.Dir))
	}
	p, err := e.readPresent(ctx)
	switch {
	case varve.FailureOf(err) == varve.Conflict && e.o.State == "":
		e.done.IsFirstCopy = true // without a state file, no later run copies changes, so a copy without a cursor is enough
		return nil
	case err != nil:
		return err
	}
	e.done.Cursor, e.done.IsFirstCopy = p.Next, true
	e.done.AsOf = p.Settled.Add(-time.Millisecond).Format(time.RFC3339Nano)
	return e.done.save(e.o.State)
}

// settleWithin is how long a run waits until the readings that were acknowledged before it are settled.
const settleWithin = 30 * time.Second

// isUnsettled reports whether a request failed because arrivals were not settled within settleWithin.
func isUnsettled(err error) bool {
	var e *varve.Error
	return errors.As(err, &e) && e.Failure == varve.Conflict && e.Param == "settle"
}

// readPresent returns the last page of changes at present. Its cursor and its settled time are the same
// point in the changes. If arrivals do not settle within settleWithin, and a state file is set,
// readPresent continues without them, because later runs copy them.
func (e *exporter) readPresent(ctx context.Context) (p client.ChangesPage, err error) {
	q := client.ChangesQuery{Stream: e.o.Stream, Since: "now", Settle: settleWithin}
	unsettled := false
	for {
		p, err = e.o.Client.ReadChanges(ctx, q, func(*varve.Reading) error { return nil })
		if isUnsettled(err) && e.o.State != "" {
			q.Settle, unsettled = 0, true
			continue
		}
		if err == nil && !p.More && unsettled {
			e.SettledUntil = p.Settled
		}
		if err != nil || !p.More {
			return p, err
		}
		q.Since, q.Settle = p.Next, 0
	}
}

// copyDevices makes the first copy, or continues it, device by device.
func (e *exporter) copyDevices(ctx context.Context) error {
	devices, err := e.devices(ctx)
	if err != nil {
		return err
	}
	e.IsFirstCopy, e.TotalDevices = true, len(devices)
	q := client.Query{Stream: e.o.Stream, AsOf: e.done.AsOf, Consistent: true, Versions: true}
	e.Devices, _ = slices.BinarySearch(devices, e.done.Device)
	if e.Devices < len(devices) && devices[e.Devices] == e.done.Device {
		if q.Cursor = e.done.Next; q.Cursor == "" {
			e.Devices++
		}
	}
	r := &pageReader{client: e.o.Client, query: q, limit: newPageLimit(min(pageReadings, e.o.FileReadings)), format: e.wire()}
	defer readPages(ctx, r, devices[e.Devices:])()
	for p := range r.pages {
		if err := e.copyPage(&p); err != nil {
			return err
		}
		r.release(&p)
	}
	if r.err != nil {
		return r.err
	}
	e.done.IsFirstCopy, e.done.AsOf, e.done.Device, e.done.Next = false, "", "", ""
	return e.endFile()
}

// devices returns the devices of the first copy, sorted. The caller must know the settled time already, so
// that each reading that arrived before it belongs to one of these devices.
func (e *exporter) devices(ctx context.Context) (names []string, err error) {
	if e.o.RegisteredOnly {
		return e.registeredDevices(ctx)
	}
	for cursor, more := "", true; more; {
		page, err := e.o.Client.StreamSeries(ctx, e.o.Stream, cursor)
		if err != nil {
			return nil, err
		}
		for i := range page.Series {
			names = append(names, page.Series[i].Device)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		cursor, more = page.Next, page.Next != ""
	}
	return names, nil
}

func (e *exporter) registeredDevices(ctx context.Context) (names []string, err error) {
	list := client.List{Limit: 1000}
	for {
		page, err := e.o.Client.StreamDevices(ctx, e.o.Stream, client.DeviceQuery{}, list)
		if err != nil {
			return nil, err
		}
		for i := range page.Devices {
			names = append(names, page.Devices[i].Device)
		}
		if list.Cursor = page.Next; page.Next == "" {
			slices.Sort(names)
			return names, nil
		}
	}
}

// copyPage adds a page to the current file, and completes the file if it is full.
func (e *exporter) copyPage(p *page) error {
	if err := e.addPage(p); err != nil {
		return err
	}
	e.Missing = slices.Compact(slices.Sorted(slices.Values(append(e.Missing, p.missing...))))
	e.MoreMissing = max(e.MoreMissing, p.more)
	e.done.Device, e.done.Next = p.device, p.next
	if p.next == "" {
		e.Devices++
	}
	if err := e.endFullFile(); err != nil {
		return err
	}
	e.report()
	return nil
}

func (e *exporter) addPage(p *page) error {
	if p.text == nil {
		return nil // the device was not found
	}
	out, before := e.output(), e.output().n
	defer func() { e.Readings += out.n - before }()
	if e.o.Format == Parquet {
		return e.decodePage(p)
	}
	return out.addText(p.text, p.device)
}

// decodePage adds the readings of a page to a Parquet file.
func (e *exporter) decodePage(p *page) error {
	in := wire.NewAnswerReader(bytes.NewReader(p.text), varve.Series{Tenant: varve.DefaultTenant, Stream: e.o.Stream, Device: p.device})
	for done := false; !done; {
		e.batch.Reset()
		err := in.Read(&e.batch)
		if done = errors.Is(err, io.EOF); err != nil && !done {
			return fmt.Errorf("%w: %w", errIncomplete, err)
		}
		for i := range e.batch.Readings {
			if err := e.out.addSorted(&e.batch.Readings[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// wire returns the format of the answers that the export requests.
func (e *exporter) wire() wire.Format {
	if e.o.Format == CSV {
		return wire.CSV
	}
	return wire.NDJSON
}

// output returns the current file. If no file is current, it begins the next one.
func (e *exporter) output() *output {
	if e.out == nil {
		name := fmt.Sprintf("%s-%06d.%s", e.o.Stream, e.done.Files+1, e.o.Format)
		e.out = &output{format: e.o.Format, path: filepath.Join(e.o.Dir, name)}
	}
	return e.out
}

func (e *exporter) endFullFile() error {
	if e.out == nil || e.out.n < e.o.FileReadings && e.out.held < maxHeldBytes {
		return nil
	}
	return e.endFile()
}

// endFile completes the current file and saves the state.
func (e *exporter) endFile() error {
	if e.out != nil {
		written, err := e.out.close()
		if err != nil {
			return err
		}
		if written {
			e.done.Files++
			e.Files++
			e.Bytes += e.out.bytes
		}
		e.out = nil
	}
	return e.done.save(e.o.State)
}

func (e *exporter) report() {
	if e.o.Progress != nil {
		e.o.Progress(e.Progress)
	}
}
