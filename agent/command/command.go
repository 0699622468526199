// Package command implements the command line of an agent.
//
//	varve-agent                 runs the agent
//	varve-agent config check    reports mistakes in the configuration
//	varve-agent config print    prints all settings
//
// [New] returns the command, which the program varve has as varve agent. [Main] runs it as the
// program varve-agent. A run ends when its context ends. If the configuration has mistakes, all of
// them are printed, and the error is [ErrMistakes].
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/varvedb/varve/agent"
	"github.com/varvedb/varve/agent/settings"
)

// defaultFile is read if it exists and no other file is named.
const defaultFile = "varve-agent.yaml"

// shortFlags are the flags for single settings.
var shortFlags = []struct{ flag, key, doc string }{
	{"server", "server.url", "`address` of the server that receives the readings"},
	{"listen", "http.listen", "`address` and port of the local API"},
	{"mqtt-listen", "mqtt.listen", "`address` and port on which devices connect with MQTT"},
	{"dir", "outbox.dir", "the `folder` with the readings that the server has not confirmed"},
	{"log-level", "log.level", "debug, info, warn or error"},
	{"log-format", "log.format", "console or json"},
}

// ErrMistakes means that the configuration has mistakes, which were printed.
var ErrMistakes = errors.New("the configuration has mistakes")

// Options configure the command.
type Options struct {
	Use     string // the name of the command
	Version string
	Now     func() time.Time
}

// command has the values of the flags of one command.
type command struct {
	Options

	file string
	set  []string
}

// New returns the command of an agent. It runs until the context ends.
func New(o Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use: o.Use, Short: "Collect readings on a device or gateway, and send them", Args: cobra.NoArgs,
		Long: "Collect readings on a device or gateway, over HTTP, line protocol and MQTT. The agent stores them on its disk until the\n" +
			"server has confirmed them. It stops on SIGTERM or Ctrl-C. Unconfirmed readings then stay on the disk.",
		Example:       "  " + o.Use + " --server https://varve.example.com --set server.key_file=/etc/varve-agent/key --dir /var/lib/varve-agent",
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.execute(cmd) },
	}
	c.addFlags(cmd.Flags())
	cmd.AddCommand(c.config())
	return cmd
}

func (c *command) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&c.file, "config", "c", "", "configuration `file` (VARVE_AGENT_CONFIG; default "+defaultFile+", if it exists)")
	flags.StringArrayVar(&c.set, "set", nil, "any setting, as in `key=value`; repeat it for more")
	for _, s := range shortFlags {
		flags.String(s.flag, "", s.doc+" ("+s.key+")")
	}
}

// load reads the configuration, and prints all mistakes.
func (c *command) load(cmd *cobra.Command) (*settings.Loaded, error) {
	src := settings.Source{File: c.file, Required: true, Environ: os.Environ(), Flags: map[string]string{}, FlagNames: map[string]string{}}
	if src.File == "" {
		src.File = os.Getenv(settings.EnvPrefix + "CONFIG")
	}
	if src.File == "" {
		src.File, src.Required = defaultFile, false
	}
	for _, s := range shortFlags {
		if f := cmd.Flags().Lookup(s.flag); f != nil && f.Changed {
			src.Flags[s.key], src.FlagNames[s.key] = f.Value.String(), "--"+s.flag
		}
	}
	for _, text := range c.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("invalid argument: --set %s: write key=value, as in outbox.full=refuse", text)
		}
		src.Flags[key], src.FlagNames[key] = value, "--set"
	}
	loaded, err := settings.Load(src)
	var mistakes settings.Mistakes
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			fmt.Fprintln(cmd.ErrOrStderr(), m)
		}
		return loaded, ErrMistakes
	}
	return loaded, err
}

func (c *command) execute(cmd *cobra.Command) error {
	loaded, err := c.load(cmd)
	if err != nil {
		return err
	}
	log := logger(loaded.Log, cmd.ErrOrStderr())
	a, err := agent.Start(cmd.Context(), agent.Options{Settings: &loaded.Settings, Log: log, Version: c.Version, Now: c.Now})
	if err != nil {
		return err
	}
	event := log.Info().Str("listen", a.URL()).Str("server", loaded.Server.URL).Str("outbox", loaded.Outbox.Dir).Str("version", c.Version)
	if at := a.MQTTAddr(); at != nil {
		event = event.Str("mqtt", at.String())
	}
	event.Msg("agent started")
	<-cmd.Context().Done()
	log.Info().Msg("shutdown started")
	if err := a.Close(); err != nil {
		return err
	}
	log.Info().Msg("agent stopped")
	return nil
}

func logger(l settings.Log, out io.Writer) zerolog.Logger {
	level, err := zerolog.ParseLevel(l.Level)
	if err != nil {
		level = zerolog.InfoLevel // impossible, because the settings have been checked
	}
	if l.Format == "console" {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: true}
	}
	return zerolog.New(zerolog.SyncWriter(out)).Level(level).With().Timestamp().Logger()
}

func (c *command) config() *cobra.Command {
	group := &cobra.Command{Use: "config", Short: "Show and check the configuration", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	check := &cobra.Command{
		Use: "check", Short: "Report all mistakes in the configuration, with file and line", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := c.load(cmd)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The configuration is good: readings go to %s.\n", loaded.Server.URL)
			return err
		},
	}
	show := &cobra.Command{
		Use: "print", Short: "Print every setting, its value, and where that comes from", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, mistakes := c.load(cmd)
			if loaded == nil {
				return mistakes
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "SETTING\tVALUE\tFROM\tMEANING")
			for _, v := range loaded.Values() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.Key, v.Value, v.Origin, v.Doc)
			}
			return errors.Join(w.Flush(), mistakes)
		},
	}
	for _, cmd := range []*cobra.Command{check, show} {
		c.addFlags(cmd.Flags())
		group.AddCommand(cmd)
	}
	return group
}

// Main runs the program varve-agent, and returns its exit code.
func Main(ctx context.Context, version string, args []string) int {
	cmd := New(Options{Use: "varve-agent", Version: version, Now: time.Now})
	cmd.Version = fmt.Sprintf("%s %s/%s", version, runtime.GOOS, runtime.GOARCH)
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrMistakes):
		return 2
	}
	fmt.Fprintf(os.Stderr, "varve-agent: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	for _, begin := range []string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument", "flag needs"} {
		if strings.HasPrefix(err.Error(), begin) {
			return 2
		}
	}
	return 1
}
