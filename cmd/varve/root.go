package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/varvedb/varve/api/client"
)

// Exit codes.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitRejected = 3 // the server answered all requests, and rejected or skipped some readings
)

type std struct {
	in       io.Reader
	out, err io.Writer
	shown    bool      // whether out is a terminal
	columns  int       // width of out in characters; 0 means unknown, or not a terminal
	rows     int       // height of out in lines; 0 means unknown, or not a terminal
	terminal bool      // whether err is a terminal
	console  io.Writer // err without escaping, for colored logs and the progress bar
	screen   io.Writer // out without escaping, for pictures; nil if out is not a terminal
}

func streamsOf(in io.Reader, out, err *os.File) std {
	s := std{in: in, out: out, err: err, shown: isTerminal(out), terminal: isTerminal(err)}
	if width, height, err := term.GetSize(int(out.Fd())); err == nil {
		s.columns, s.rows = width, height
	}
	return s
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// exitError ends the program with an exit code and prints nothing.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// execute runs the program and returns the exit code.
func execute(ctx context.Context, args []string, s std) int {
	s.console, s.err = s.err, &printer{w: s.err}
	if s.shown {
		s.screen = s.out
		s.out = &printer{w: s.out}
	}
	root := rootCommand(&s)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	var code exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case isUsage(err):
		fmt.Fprintf(s.err, "varve: %s\n", oneLine(didYouMean(err)))
		return exitUsage
	default:
		fmt.Fprintf(s.err, "varve: %s\n", oneLine(err))
		return exitFailure
	}
}

// isUsage reports whether an error is a mistake on the command line or in the configuration.
// Cobra's own errors have no type, so their text is compared.
func isUsage(err error) bool {
	var usage usageError
	if errors.As(err, &usage) {
		return true
	}
	for _, begin := range []string{"unknown command", "unknown flag", "unknown shorthand", "accepts ", "requires ", "invalid argument", "flag needs", "required flag", "bad flag", "if any flags"} {
		if strings.HasPrefix(err.Error(), begin) {
			return true
		}
	}
	return false
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// app has the state that all commands share.
type app struct {
	*std
	server  string
	access  accessFlags
	output  string
	wide    bool // whether tables have all columns, however narrow the terminal is
	timeout time.Duration
}

func rootCommand(s *std) *cobra.Command {
	a := &app{std: s}
	root := &cobra.Command{
		Use:   "varve",
		Short: "Device readings in time-bucketed tables",
		Long: "Varve stores device readings by event time and by arrival.\n\n" +
			"  varve serve                       start the service\n" +
			"  varve ingest FILES…               send readings to it\n" +
			"  varve query STREAM DEVICE         print the readings of a device\n" +
			"  varve tables list                 list the tables, and when each is dropped\n" +
			"  varve doctor                      check whether the service can run here",
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	q := queryCommands{a}
	root.AddCommand(serveCommand(a), ingestCommand(a), q.query(), q.why(), q.latest(), q.rollups(), aggregateCommands{q}.aggregate(), q.count(), arrivalCommands{q}.arrivals(), exportCommand(a), streamsCommand(a),
		tablesCommand(a), devicesCommand(a), logsCommand(a), alertsCommand(a), rulesCommand(a), rejectsCommand(a), archiveCommand(a), erasuresCommand(a), keysCommand(a), mqttCommand(a), mcpCommand(a), q.digests(), receiptsCommand(a), configCommand(a), doctorCommand(a), versionCommand(a))
	root.AddCommand(verifyCommand(a), repairCommand(a), backupCommand(a), restoreCommand(a), agentCommand(), manCommand(a))
	completer{a}.addTo(root)
	root.SetVersionTemplate("varve {{.Version}}\n")
	wrapHelp(root, s.columns)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{flagError(cmd, err)}
	})
	return root
}

// remote adds the flags of commands that call a server.
func (a *app) remote(cmd *cobra.Command, outputs ...string) *cobra.Command {
	a.serverFlags(cmd)
	cmd.Flags().DurationVar(&a.timeout, "timeout", 0, "give up after this time; 0 means never")
	if len(outputs) > 0 {
		a.outputFlag(cmd, outputs...)
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.timeout > 0 {
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), a.timeout, fmt.Errorf("no answer within %s", a.timeout))
			defer cancel()
			cmd.SetContext(ctx)
		}
		return untrusted(a.forbidden(queryError(cmd, withCommand(ofFlag(cmd, run(cmd, args))))))
	}
	return cmd
}

func (a *app) serverFlags(cmd *cobra.Command) {
	def := os.Getenv("VARVE_SERVER")
	if def == "" {
		def = client.DefaultServer
	}
	cmd.Flags().StringVar(&a.server, "server", def, "the server's `address` (VARVE_SERVER)")
	a.access.add(cmd)
}

// outputFlag adds -o. The first output is the default.
func (a *app) outputFlag(cmd *cobra.Command, outputs ...string) {
	var output string // not a field of app, because the commands have different defaults
	cmd.Flags().StringVarP(&output, "output", "o", outputs[0], "output `format`: "+strings.Join(outputs, ", "))
	var wide bool
	if slices.Contains(outputs, "table") {
		cmd.Flags().BoolVarP(&wide, "wide", "w", false, "show all columns of a table, also beyond the width of the terminal")
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.wide = wide
		if a.output = output; !slices.Contains(outputs, output) {
			return usageError{fmt.Errorf("output %q is unknown: use %s", output, strings.Join(outputs, ", "))}
		}
		if p, ok := a.out.(*printer); ok {
			p.csv = output == "csv"
		}
		return run(cmd, args)
	}
	a.words(cmd, "output", outputs...)
}

// words makes the shell complete the value of a flag with the given words.
func (a *app) words(cmd *cobra.Command, flag string, words ...string) {
	// Ignore the error: registering cannot fail for a flag that was just added.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

// group returns a command that only has subcommands.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		if similar := similarNames(args[0], cmd.SuggestionsFor(args[0])); len(similar) > 0 {
			return usageError{fmt.Errorf("unknown command %q for %q: did you mean %s?", args[0], cmd.CommandPath(), strings.Join(similar, " or "))}
		}
		return usageError{fmt.Errorf("unknown command %q for %q (see %s --help)", args[0], cmd.CommandPath(), cmd.CommandPath())}
	}
	cmd.AddCommand(below...)
	return cmd
}

// takes returns a check of the number of arguments. If "most" is negative, the number has no limit.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		wanted, some := strings.CutPrefix(cmd.Use, cmd.Name()+" ")
		if !some {
			wanted = "no arguments"
		}
		return usageError{fmt.Errorf("%s takes %s (see %s --help)", cmd.CommandPath(), wanted, cmd.CommandPath())}
	}
}
