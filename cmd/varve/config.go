package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/varvedb/varve/config"
)

// defaultFile is read if it exists and no other file is named.
const defaultFile = "varve.yaml"

var settingFlags = []settingFlag{
	{"listen", "server.listen", "`address` and port to listen on"},
	storeFlag, dataFlag,
	{"drop", "retention.drop", "drop tables whose readings have all expired: false, true or archived"},
	{"debug-listen", "server.debug_listen", "loopback `address` and port for profiles of the process (pprof)"},
	{"log-level", "log.level", "debug, info, warn or error"},
	{"log-format", "log.format", "console or json"},
}

type settingFlag struct{ flag, key, doc string }

var (
	storeFlag = settingFlag{"store", "store.kind", "the kind of the store: local, dynamodb or mem"}
	dataFlag  = settingFlag{"data", "store.dir", "the data `folder`"}
)

// configFlags are the flags of every command that reads the configuration.
type configFlags struct {
	file  string
	set   []string
	flags *pflag.FlagSet
}

func (f *configFlags) add(cmd *cobra.Command) { f.addSome(cmd, settingFlags...) }

func (f *configFlags) addSome(cmd *cobra.Command, some ...settingFlag) {
	f.flags = cmd.Flags()
	f.flags.StringVarP(&f.file, "config", "c", "", "configuration `file` (VARVE_CONFIG; default "+defaultFile+", if it exists)")
	f.flags.StringArrayVar(&f.set, "set", nil, "any setting, as in `key=value`; repeat it for more")
	for _, s := range some {
		f.flags.String(s.flag, "", s.doc+" ("+s.key+")")
	}
}

// source returns the file, the variables and the flags that the configuration is read from.
func (f *configFlags) source() (config.Source, error) {
	src := config.Source{File: f.file, Required: true, Environ: os.Environ(), Flags: map[string]string{}, FlagNames: map[string]string{}}
	if src.File == "" {
		src.File = os.Getenv("VARVE_CONFIG")
	}
	if src.File == "" {
		src.File, src.Required = defaultFile, false
	}
	for _, s := range settingFlags {
		if fl := f.flags.Lookup(s.flag); fl != nil && fl.Changed {
			src.Flags[s.key], src.FlagNames[s.key] = fl.Value.String(), "--"+s.flag
		}
	}
	for _, text := range f.set {
		key, value, ok := cut(text)
		if !ok {
			return src, usageError{fmt.Errorf("--set %s: write key=value, as in retention.grace=14d", text)}
		}
		src.Flags[key], src.FlagNames[key] = value, "--set"
	}
	return src, nil
}

// command returns a command of varve with the same flags, to be pasted into a shell.
func (f *configFlags) command(name string) string {
	words := []string{"varve", name}
	if f.file != "" {
		words = append(words, "--config", shellWord(f.file))
	}
	for _, s := range settingFlags {
		if fl := f.flags.Lookup(s.flag); fl != nil && fl.Changed {
			words = append(words, "--"+s.flag, shellWord(fl.Value.String()))
		}
	}
	for _, text := range f.set {
		words = append(words, "--set", shellWord(text))
	}
	return strings.Join(words, " ")
}

// plainWord matches a word that a shell leaves as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func cut(text string) (key, value string, ok bool) {
	for i := range len(text) {
		if text[i] == '=' {
			return text[:i], text[i+1:], i > 0
		}
	}
	return text, "", false
}

// load reads the configuration. It prints all mistakes and warnings, one per line.
func (f *configFlags) load(a *app) (*config.Loaded, error) {
	loaded, err := f.loadChecked(a)
	if loaded != nil {
		for _, w := range loaded.Warnings {
			fmt.Fprintln(a.err, "warning:", w)
		}
	}
	return loaded, err
}

// read reads the configuration. The error may be config.Mistakes.
func (f *configFlags) read() (*config.Loaded, error) {
	src, err := f.source()
	if err != nil {
		return nil, err
	}
	return config.Load(src)
}

// loadChecked reads the configuration, and prints all mistakes, one per line.
func (f *configFlags) loadChecked(a *app) (*config.Loaded, error) {
	loaded, err := f.read()
	var mistakes config.Mistakes
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			fmt.Fprintln(a.err, m)
		}
		return loaded, usageError{fmt.Errorf("the configuration has %s", count(len(mistakes), "mistake"))}
	}
	return loaded, err
}

func configCommand(a *app) *cobra.Command {
	return group("config", "Show and check the configuration", configCheckCommand(a), configPrintCommand(a))
}

func configCheckCommand(a *app) *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use: "check", Short: "Report all mistakes in the configuration, with file and line", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			if _, err := targetsOf(cmd.Context(), &loaded.Config); err != nil {
				return usageError{err}
			}
			text, wrong, err := quotaFinding(cmd.Context(), &loaded.Config)
			if err != nil {
				return err
			}
			if !wrong {
				fmt.Fprintf(a.out, "The configuration is good: %s, %s.\n", count(len(loaded.Classes), "class"), count(len(loaded.Streams), "stream"))
			}
			if !loaded.Server.Loopback() {
				a.printText(loaded.Server.Listen + " can be reached from other machines: serve requires an API key first (varve keys create).")
			}
			for _, line := range boundText(&loaded.Config) {
				a.printText(line)
			}
			return reportQuota(a, &loaded.Config, text, wrong)
		},
	}
	f.add(cmd)
	return cmd
}

// reportQuota prints a text as a warning about the quota of tables. If the parameter "wrong" is true,
// it returns the text as an error instead. It does nothing if the text is empty.
func reportQuota(a *app, c *config.Config, text string, wrong bool) error {
	switch {
	case text == "":
		return nil
	case wrong:
		return usageError{fmt.Errorf("%s: %s", text, quotaRemedy(c))}
	}
	a.printText(fmt.Sprintf("Warning: %s: %s.", text, quotaRemedy(c)))
	return nil
}

func configPrintCommand(a *app) *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use: "print", Short: "Print every setting, its value, and where that comes from", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			g := listing{header: []string{"setting", "value", "from", "what it is"}, optional: []string{"what it is"}}
			values := loaded.Values()
			for _, v := range values {
				g.add(v.Key, v.Value, v.Origin, v.Doc)
			}
			return a.show(&g, map[string]any{"settings": values})
		},
	}
	f.add(cmd)
	a.outputFlag(cmd, "table", "json", "csv")
	return cmd
}
