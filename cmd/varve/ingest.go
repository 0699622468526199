package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// ingestFlags are the flags of ingest.
type ingestFlags struct {
	stream, device, format          string
	precision, timezone             string
	timeColumn, deviceColumn, idCol string
	columns, types, delimiter       string
	compress                        string
	rejects, checkpoint             string
	parallel, batch                 int
	quiet                           bool
}

func ingestCommand(a *app) *cobra.Command {
	var f ingestFlags
	cmd := &cobra.Command{
		Use: "ingest FILES…", Short: "Send files of readings: CSV, NDJSON or JSON",
		Long: "Send files of readings, or folders of them, or - for standard input.\n\n" +
			"The stream is the name of the file's folder, unless --stream says otherwise. The device is what each reading says; of\n" +
			"readings that say nothing, the name of the file. Files ending in .gz and .zst are unpacked.\n\n" +
			"Sending anything again is harmless: what is there already is a duplicate. A reading whose id is stored with other values\n" +
			"is rejected as a conflict. The exit code is 0 if nothing was rejected, 3 if something was, 1 if sending failed.",
		Example: "  varve ingest weather/sensor_01.csv\n" +
			"  varve ingest --stream weather --time-column ts --precision s readings.csv\n" +
			"  varve ingest --stream weather --format ndjson - < readings.ndjson\n" +
			"  varve ingest --checkpoint state.json backlog/",
		Args: takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.ingest(cmd.Context(), &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.stream, "stream", "", "the `stream` of all files (default: the name of each file's folder)")
	fl.StringVar(&f.device, "device", "", "the `device` of readings that name none (default: the name of each file)")
	fl.StringVar(&f.format, "format", "", "csv, ndjson or json (default: by each file's name)")
	fl.StringVar(&f.precision, "precision", "", "unit of numeric times: s, ms, us or ns (default ms)")
	fl.StringVar(&f.timezone, "timezone", "", "of times without a zone, as in Europe/Berlin (default UTC)")
	fl.StringVar(&f.timeColumn, "time-column", "", "CSV: `column` with the time (default time, else timestamp)")
	fl.StringVar(&f.deviceColumn, "device-column", "", "CSV: `column` with the device (default device)")
	fl.StringVar(&f.idCol, "id-column", "", "CSV: `column` with the id (default id)")
	fl.StringVar(&f.columns, "columns", "", "CSV: `names` of the columns, separated by commas, if there is no header")
	fl.StringVar(&f.types, "types", "", "CSV: kinds of columns, as in serial:string,ok:boolean")
	fl.StringVar(&f.delimiter, "delimiter", "", "CSV: between columns: a character, or tab (default a comma)")
	fl.StringVar(&f.compress, "compress", "none", "pack what is sent: none, gzip or zstd")
	fl.StringVar(&f.rejects, "rejects", "", "write what was rejected to this `file`, a JSON object a line")
	fl.StringVar(&f.checkpoint, "checkpoint", "", "keep in this `file` how far each file was sent, and go on from there")
	fl.IntVar(&f.parallel, "parallel", 4, "how many batches to send at a time")
	fl.IntVar(&f.batch, "batch", wire.BatchReadings, "how many readings to send in a batch")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	a.words(cmd, "format", "csv", "ndjson", "json")
	a.words(cmd, "precision", "s", "ms", "us", "ns")
	a.words(cmd, "compress", "none", "gzip", "zstd")
	return a.remote(cmd, "text", "json")
}

// columnsOf returns what is said of CSV columns.
func (f *ingestFlags) columnsOf() (c wire.Columns, err error) {
	c.Time, c.Device, c.ID = f.timeColumn, f.deviceColumn, f.idCol
	if f.columns != "" {
		c.Names = strings.Split(f.columns, ",")
	}
	d := f.delimiter
	if d == "tab" || d == `\t` {
		d = "\t"
	}
	if d != "" {
		r, n := utf8.DecodeRuneInString(d)
		if n != len(d) {
			return c, usageError{fmt.Errorf("--delimiter %q is not one character", f.delimiter)}
		}
		c.Delimiter = r
	}
	if f.types == "" {
		return c, nil
	}
	c.Kinds = map[string]varve.Kind{}
	for _, text := range strings.Split(f.types, ",") {
		name, kind, ok := strings.Cut(text, ":")
		k, err := wire.ParseKind(kind)
		if !ok || err != nil {
			return c, usageError{fmt.Errorf("--types %q is not a column and its kind, as in serial:string; the kinds are number, string, boolean and json", text)}
		}
		c.Kinds[name] = k
	}
	return c, nil
}

// params are the parameters that go with every batch of a file.
func (f *ingestFlags) params(device string) url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"precision": f.precision, "timezone": f.timezone, "device": device, "time_column": f.timeColumn,
		"device_column": f.deviceColumn, "id_column": f.idCol, "columns": f.columns, "types": f.types, "delimiter": f.delimiter,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// sent says where a file goes and how it is read: what is sent elsewhere, or
// read otherwise, has not been sent.
func (f *ingestFlags) sent(server string, in *input) map[string]string {
	all := map[string]string{
		"--server": strings.TrimSuffix(server, "/"), "the stream": in.stream, "the format": in.format.String(),
		"--device": f.device, "--columns": f.columns, "--time-column": f.timeColumn, "--device-column": f.deviceColumn,
		"--id-column": f.idCol, "--precision": f.precision, "--timezone": f.timezone, "--types": f.types, "--delimiter": f.delimiter,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

func (f *ingestFlags) check() error {
	if f.parallel < 1 || f.batch < 1 {
		return usageError{errors.New("--parallel and --batch are at least 1")}
	}
	if _, err := wire.ParsePrecision(f.precision); err != nil {
		return usageError{fmt.Errorf("--%w", err)}
	}
	if f.rejects == "-" {
		return usageError{errors.New("--rejects wants a file: standard output has the summary; --rejects /dev/stdout mixes both")}
	}
	if _, err := f.columnsOf(); err != nil {
		return err
	}
	if !contains([]string{"none", "gzip", "zstd"}, f.compress) {
		return usageError{fmt.Errorf("--compress %q is unknown: use none, gzip or zstd", f.compress)}
	}
	return nil
}

func (a *app) ingest(ctx context.Context, f *ingestFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	inputs, err := findInputs(f, args)
	if err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	for i := range inputs {
		inputs[i].sent = f.sent(a.server, &inputs[i])
	}
	a.sayHere(f, inputs)
	up, err := newUpload(a, c, f, inputs)
	if err != nil {
		return err
	}
	begin := time.Now()
	sendErr := up.run(ctx)
	up.bar.end(sendErr == nil)
	sendErr = errors.Join(sendErr, up.marks.flush(), up.close())
	if err := up.report(time.Since(begin), sendErr); err != nil {
		return err
	}
	if sendErr != nil {
		return sendErr
	}
	if up.tally.Rejected > 0 {
		return exitError(exitRejected)
	}
	return nil
}

// sayHere says into which stream files go that are named without a folder: it is
// not what everybody expects, and cannot be undone.
func (a *app) sayHere(f *ingestFlags, inputs []input) {
	for i := range inputs {
		if in := &inputs[i]; f.stream == "" && filepath.Dir(in.path) == "." {
			fmt.Fprintf(a.err, "Into stream %s, by the name of this folder; --stream names another.\n", in.stream)
			return
		}
	}
}

// run sends all files, one after another, several batches at a time.
func (u *upload) run(ctx context.Context) error {
	g, sending := errgroup.WithContext(ctx)
	g.SetLimit(u.flags.parallel)
	var failed error
	for i := range u.inputs {
		in := &u.inputs[i]
		err := u.file(sending, g, in)
		if sending.Err() != nil {
			break // what it failed for is what g.Wait returns
		}
		if err != nil {
			failed = in.wrap(err)
			break
		}
	}
	err := g.Wait()
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) { // it took too long
			if errors.Is(err, cause) {
				return err // and says what for
			}
			return cause
		}
		return errInterrupted
	}
	if err != nil {
		return err
	}
	return failed
}

var errInterrupted = errors.New("interrupted")

// file cuts one file into pieces and sends them.
func (u *upload) file(ctx context.Context, g *errgroup.Group, in *input) (err error) {
	r, err := in.open(ctx, u.app.in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	columns, err := u.flags.columnsOf()
	if err != nil {
		return err
	}
	s, err := wire.NewSplitter(in.format, r, columns, u.flags.batch, 1<<20)
	if err != nil {
		return err
	}
	device := in.deviceParam(s.Names(), columns)
	if err := in.checkColumns(s.Names(), columns, device); err != nil {
		return err
	}
	if err := u.goOn(in, r, s); err != nil {
		return err
	}
	params := u.flags.params(device)
	for n := 0; ctx.Err() == nil; n++ {
		p, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		u.marks.begin(in, n, s.At())
		g.Go(func() error { return u.piece(ctx, in, n, p, params) })
	}
	return nil // the caller sees that it was stopped
}

// goOn skips what an earlier run has sent of a file.
func (u *upload) goOn(in *input, r *file, s *wire.Splitter) error {
	at, changed, ok := u.marks.place(in)
	if changed != "" {
		u.say(fmt.Sprintf("%s: sent from its beginning: %s", in.path, changed))
	}
	if !ok {
		return nil
	}
	if err := s.Skip(r.source(), at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	u.skipped(in, at)
	return nil
}

// piece sends one piece until each of its readings has a verdict.
func (u *upload) piece(ctx context.Context, in *input, n int, p wire.Piece, params url.Values) error {
	for _, r := range p.Rejects {
		u.reject(in, rejection{Index: r.Index, Line: r.Line, Code: string(r.Verdict.Code), Message: r.Verdict.Message})
	}
	u.count(varve.Tally{Rejected: int64(len(p.Rejects))}, 0)
	for try := 0; p.Len() > 0; try++ {
		body, err := u.body(&p, in, params)
		if err != nil {
			return err
		}
		answer, err := u.client.Write(ctx, in.stream, body)
		if err != nil {
			return in.wrap(paramError(err, ""))
		}
		later := u.verdicts(in, &p, answer, try < maxLater)
		if len(later) == 0 {
			break
		}
		p = p.Only(later)
		select {
		case <-time.After(time.Second << min(try, 4)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), answer.Rejects[0].Message)
		}
	}
	return u.marks.end(in, n)
}

// maxLater is how often readings are sent again that could not be stored for
// the time being.
const maxLater = 6

func (u *upload) body(p *wire.Piece, in *input, params url.Values) (client.Body, error) {
	b := client.Body{Data: p.Data, Format: in.format, Params: params}
	if in.format == wire.JSON {
		b.Format = wire.NDJSON
	}
	if u.flags.compress == "none" {
		return b, nil
	}
	var err error
	b.Data, err = pack(u.flags.compress, p.Data)
	b.Encoding = u.flags.compress
	return b, err
}
