package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// completeWithin limits the wait for a server, because a user waits for the shell.
const completeWithin = time.Second

// completer completes arguments and flags with names that a server returns. If the server does not
// answer, completer completes nothing and prints nothing.
type completer struct{ *app }

// nameSource returns the names of one type of object, such as devices. The arguments "args" precede the
// word that is completed.
type nameSource func(ctx context.Context, c *client.Client, cmd *cobra.Command, args []string) []string

// addTo adds completions to a command and its subcommands. The name of an argument in the usage, or
// of a flag, determines which names complete it.
func (p completer) addTo(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		p.addTo(below)
	}
	if cmd.Flags().Lookup("server") == nil {
		return
	}
	arguments := map[string]nameSource{"STREAM": streamNames, "DEVICE": deviceNames}
	if parent := cmd.Parent(); parent != nil {
		switch parent.Name() {
		case "tables":
			arguments["NAME"] = tableNames
		case "rules":
			arguments["ID"] = ruleNames
		case "alerts":
			arguments["ID"] = alertNames
		case "rejects":
			arguments["ID"] = rejectNames
		case "keys":
			arguments["ID"] = keyNames
		}
	}
	names := strings.Fields(cmd.Use)[1:]
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			i := min(len(args), len(names)-1)
			if i < 0 || i < len(args) && !strings.HasSuffix(strings.TrimSuffix(names[i], "]"), "…") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			name := strings.Trim(names[i], "[]…")
			if name == "FILES" {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return p.complete(arguments[name], cmd, args, word), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for flag, from := range map[string]nameSource{"stream": streamNames, "device": deviceNames, "fields": fieldNames, "field": fieldNames, "top-field": fieldNames, "rule": ruleNames} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		// Ignore the error: registering fails only if the flag is missing or already has a completion.
		// This flag exists and has none.
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			// --fields takes several names with commas between them. Complete the last one.
			before := word[:strings.LastIndexByte(word, ',')+1]
			if flag != "fields" {
				before = ""
			}
			found := p.complete(from, cmd, args, strings.TrimPrefix(word, before))
			for i := range found {
				found[i] = before + found[i]
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		})
	}
	offerNoFiles(cmd)
}

// offerNoFiles prevents the shell from completing flags with names of files, unless their values
// are files or folders.
func offerNoFiles(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if what, _ := pflag.UnquoteUsage(f); what == "file" || what == "folder" {
			return
		}
		// Ignore the error: registering fails only if the flag has a completion already, which remains.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
	})
}

// complete returns the names that begin with a word.
func (p completer) complete(from nameSource, cmd *cobra.Command, args []string, word string) []string {
	if from == nil {
		return nil
	}
	options, err := p.access.options()
	if err != nil {
		return nil
	}
	c, err := client.New(p.server, append(options, client.WithRetries(0))...)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeWithin)
	defer cancel()
	names := from(ctx, c, cmd, args)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, word) || printable(name) != name })
}

func streamNames(ctx context.Context, c *client.Client, _ *cobra.Command, _ []string) (names []string) {
	list, err := c.Streams(ctx)
	if err != nil {
		return nil
	}
	for _, s := range list.Streams {
		names = append(names, s.Name)
	}
	return names
}

// deviceNames returns the names of the first pageSize devices.
func deviceNames(ctx context.Context, c *client.Client, _ *cobra.Command, _ []string) (names []string) {
	page, err := c.Devices(ctx, "", client.List{Limit: pageSize})
	if err != nil {
		return nil
	}
	for _, d := range page.Devices {
		names = append(names, d.Device)
	}
	return names
}

func tableNames(ctx context.Context, c *client.Client, _ *cobra.Command, _ []string) (names []string) {
	list, err := c.Tables(ctx)
	if err != nil {
		return nil
	}
	for _, t := range list.Tables {
		names = append(names, t.Name)
	}
	return names
}

func ruleNames(ctx context.Context, c *client.Client, _ *cobra.Command, _ []string) (names []string) {
	list, err := c.Rules(ctx)
	if err != nil {
		return nil
	}
	for i := range list.Rules {
		names = append(names, list.Rules[i].ID)
	}
	return names
}

// alertNames returns the ids of the latest alerts.
func alertNames(ctx context.Context, c *client.Client, _ *cobra.Command, _ []string) (names []string) {
	page, err := c.SelectAlerts(ctx, client.AlertQuery{}, client.List{Limit: pageSize})
	if err != nil {
		return nil
	}
	for i := range page.Alerts {
		names = append(names, page.Alerts[i].ID)
	}
	return names
}

// rejectNames returns the ids of the latest rejects.
func rejectNames(ctx context.Context, c *client.Client, _ *cobra.Command, _ []string) (names []string) {
	page, err := c.Rejects(ctx, wire.RejectSelection{}, client.List{Limit: pageSize})
	if err != nil {
		return nil
	}
	for i := range page.Rejects {
		names = append(names, page.Rejects[i].ID)
	}
	return names
}

func keyNames(ctx context.Context, c *client.Client, _ *cobra.Command, _ []string) (names []string) {
	list, err := c.Keys(ctx)
	if err != nil {
		return nil
	}
	for i := range list.Keys {
		names = append(names, list.Keys[i].ID)
	}
	return names
}

// fieldDevices is the number of devices of a stream whose fields complete a word.
const fieldDevices = 20

// fieldNames returns the names of the fields in the latest readings of the named devices. Without a
// device, it returns the fields of the first devices of the stream.
func fieldNames(ctx context.Context, c *client.Client, cmd *cobra.Command, args []string) (names []string) {
	if len(args) == 0 || !strings.Contains(cmd.Use, " STREAM") {
		return nil
	}
	q := client.LatestQuery{Stream: args[0], By: varve.ByEvent, Devices: args[1:]}
	if len(q.Devices) == 0 {
		q.Limit = fieldDevices
	}
	page, err := c.LatestPage(ctx, q)
	if err != nil {
		return nil
	}
	for _, l := range page.Latest {
		if l.Reading == nil {
			continue
		}
		for _, f := range l.Reading.Fields {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
