package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/upload"
)

type ingestFlags struct {
	stream, device, format string
	params                 map[string]*string // for each parameter of the API that has a flag, the value of the flag
	compress               string
	rejects, checkpoint    string
	parallel, batch        int
	reconcile              bool
	quiet                  bool
}

func ingestCommand(a *app) *cobra.Command {
	f := ingestFlags{params: map[string]*string{}}
	cmd := &cobra.Command{
		Use: "ingest FILES…", Aliases: []string{"upload"}, Short: "Send files: CSV, NDJSON, JSON, Parquet or line protocol",
		Long: "Send files of readings, folders of such files, or - for standard input. In a folder, links to files are followed,\n" +
			"and links to folders are not.\n\n" +
			"The stream is the name of the file's folder, unless --stream is set. A reading without a device gets the name of\n" +
			"the file as its device. In line protocol, the measurement is the stream, and a tag is the device. Files that end\n" +
			"in .gz and .zst are decompressed. A Parquet file is one of varve export or of an archive, and is not read from standard\n" +
			"input.\n\n" +
			"Resending is harmless: a reading that is stored already is a duplicate. A reading whose id is stored with other\n" +
			"values is rejected as a conflict. The exit code is 0 if nothing was rejected, 3 if readings were rejected, 1 if\n" +
			"sending failed.",
		Example: "  varve ingest weather/sensor_01.csv\n" +
			"  varve ingest --stream weather --time-column ts --precision s readings.csv\n" +
			"  varve ingest --stream weather --format ndjson - < readings.ndjson\n" +
			"  varve ingest --checkpoint state.json backlog/\n" +
			"  varve ingest --reconcile backlog/",
		Args: takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return ingest(cmd.Context(), a, &f, args) },
	}
	f.add(a, cmd)
	return a.remote(cmd, "text", "json")
}

func (f *ingestFlags) add(a *app, cmd *cobra.Command) {
	fl := cmd.Flags()
	param := func(flag, usage string) {
		f.params[strings.ReplaceAll(flag, "-", "_")] = fl.String(flag, "", usage)
	}
	fl.StringVar(&f.stream, "stream", "", "the `stream` of all files (default: the name of each file's folder)")
	fl.StringVar(&f.device, "device", "", "the `device` of readings without one (default: the name of each file)")
	fl.StringVar(&f.format, "format", "", upload.FormatNames()+" (default: by each file's name)")
	param("precision", "unit of numeric times: s, ms, us or ns (default ms, in line protocol ns)")
	param("timezone", "time zone of times without one, as in Europe/Berlin (default UTC)")
	param("time-column", "CSV: `column` with the time (default time, else timestamp)")
	param("device-column", "CSV: `column` with the device (default device)")
	param("id-column", "CSV: `column` with the id (default id)")
	param("columns", "CSV: `names` of the columns, separated by commas, if the file has no header")
	param("types", "CSV: kinds of columns, as in serial:string,ok:boolean")
	param("delimiter", "CSV: separator of columns: a character, or tab (default a comma)")
	param("name-column", "CSV: `column` with the names of fields, if each row has one value (needs --value-column)")
	param("value-column", "CSV: `column` with the values of --name-column")
	param("device-columns", "CSV: all other columns are devices, and their cells are this `field`")
	param("null", "CSV: `cells` that stand for a missing value, as in NaN,N/A,-")
	param("decimal", "CSV: a comma, if numbers have a decimal comma (needs another --delimiter)")
	param("bad-cells", "CSV: skip omits and counts cells that are not values (default reject: their readings are rejected)")
	param("dst", "local times that occur twice or never: earlier or later (default: they are rejected)")
	param("time", "arrival: readings without a time happened at their arrival; equal ones of a request are one reading (default required)")
	param("fields", "JSON: flat: all members but device, time, id and stream are fields (default nested)")
	fl.StringVar(&f.compress, "compress", "none", "compression of requests: none, gzip or zstd")
	fl.StringVar(&f.rejects, "rejects", "", "write rejected readings to this `file`, a JSON object a line")
	fl.StringVar(&f.checkpoint, "checkpoint", "", "record in this `file` how far each file was sent, and resume there")
	fl.IntVar(&f.parallel, "parallel", 4, "number of batches that are sent at a time")
	fl.IntVar(&f.batch, "batch", wire.BatchReadings, "number of readings in a batch, up to 10000")
	fl.BoolVar(&f.reconcile, "reconcile", false, "compare the files with the store first, and send only the hours that differ")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print only errors and rejections")
	names := []string{upload.FormatParquet}
	for _, format := range wire.BodyFormats() {
		names = append(names, format.Name())
	}
	a.words(cmd, "format", names...)
	a.words(cmd, "precision", "s", "ms", "us", "ns")
	a.words(cmd, "bad-cells", "reject", "skip")
	a.words(cmd, "dst", "earlier", "later")
	a.words(cmd, "time", "required", "arrival")
	a.words(cmd, "fields", "nested", "flat")
	a.words(cmd, "compress", "none", "gzip", "zstd")
}

// values returns the flags that are parameters of the API.
func (f *ingestFlags) values() url.Values {
	v := url.Values{}
	for name, value := range f.params {
		if *value != "" {
			v.Set(name, *value)
		}
	}
	return v
}

// check rejects invalid flags before the upload begins.
func (f *ingestFlags) check() error {
	if f.parallel < 1 || f.batch < 1 {
		return usageError{errors.New("--parallel and --batch: too small: use 1 or more")}
	}
	if _, err := wire.ParsePrecision(*f.params["precision"]); err != nil {
		return usageError{fmt.Errorf("--%w", err)}
	}
	if f.rejects == "-" {
		return usageError{errors.New("--rejects: - is not a file: use /dev/stdout to mix rejections with the summary")}
	}
	_, err := wire.ParseColumns(f.values())
	return mistaken(paramError(err, ""))
}

func ingest(ctx context.Context, a *app, f *ingestFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	selection := upload.Selection{
		Stream: f.stream, Device: f.device, Format: f.format, Stdin: a.in, Exclude: []string{f.checkpoint, f.rejects},
	}
	sources, err := selection.Sources(args)
	if err != nil {
		return paramError(err, "")
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	announceStream(a, f, sources)
	report := &ingestReport{app: a, files: len(sources), rejectPath: f.rejects, hasCheckpoint: f.checkpoint != "", quiet: f.quiet}
	up, err := upload.New(upload.Options{
		Client: c, Server: a.server, Params: f.values(), Parallel: f.parallel, Batch: f.batch, Compression: f.compress,
		Checkpoint: f.checkpoint, Reconcile: f.reconcile, Events: report.events(),
	}, sources)
	if err != nil {
		return paramError(err, "")
	}
	if report.rejects, err = upload.CreateRejectFile(f.rejects, up.Resumes(), sources); err != nil {
		return paramError(err, "")
	}
	report.bar = newProgress(a, up.Size(), a.terminal && !f.quiet && a.output != "json")
	begin := time.Now()
	result, err := up.Run(ctx)
	report.bar.end(err == nil)
	err = errors.Join(ingestError(err), up.Close(), report.rejects.Close())
	if err := report.summarize(&result, time.Since(begin), err); err != nil {
		return err
	}
	if err == nil && result.Rejected > 0 {
		return exitError(exitRejected)
	}
	return err
}

// announceStream prints the stream of files that were named without a folder. The stream has the name of
// the working folder. Users may not expect that, and readings cannot be moved to another stream.
func announceStream(a *app, f *ingestFlags, sources []upload.Source) {
	for i := range sources {
		if s := &sources[i]; f.stream == "" && s.Stream != "" && filepath.Dir(s.Path) == "." {
			fmt.Fprintf(a.err, "Into stream %s, by the name of this folder; --stream names another.\n", s.Stream)
			return
		}
	}
}

// ingestError returns an error of an upload, in which flags replace API parameters. If several files could
// not be read, the error joins one error per file.
func ingestError(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range joined.Unwrap() {
			errs = append(errs, fileError(e))
		}
		return errors.Join(errs...)
	}
	return fileError(err)
}

// fileError returns an error about one file, in which flags replace API parameters. For a missing
// column, it adds the flags that name the column. It returns other errors unchanged.
func fileError(err error) error {
	var inFile *upload.FileError
	if !errors.As(err, &inFile) {
		return err
	}
	cause := paramError(inFile.Err, "")
	var header *upload.HeaderError
	if errors.As(cause, &header) {
		cause = fmt.Errorf("%w%s", header.Err, columnHint(header))
	}
	return &upload.FileError{Path: inFile.Path, Err: cause}
}

// columnHint returns the flags that name a missing column.
func columnHint(header *upload.HeaderError) string {
	var body *wire.BodyError
	if !errors.As(header.Err, &body) {
		return ""
	}
	var hint string
	switch body.Param {
	case "time_column":
		hint = ": --time-column COLUMN"
	case "device_column":
		hint = ": --device-column COLUMN, or --device NAME"
	default:
		return ""
	}
	if len(header.Columns) == 1 {
		hint += "; if something other than a comma separates columns, set --delimiter"
	}
	return hint
}
