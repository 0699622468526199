package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/timefmt"
)

type keyCommands struct{ *app }

func keysCommand(a *app) *cobra.Command {
	c := keyCommands{a}
	cmd := group("keys", "Make, list and revoke API keys", c.create(), c.list(), c.revoke())
	cmd.Long = "Make, list and revoke API keys.\n\n" +
		"With --server, VARVE_SERVER or a key, the command uses the server. That requires an admin key once keys exist. Otherwise, or with\n" +
		"--data or --store, it opens the store. If a server has the store open, set --server."
	return cmd
}

func (a keyCommands) create() *cobra.Command {
	var scopes []string
	var expires string
	var d wire.KeyDraft
	var draft apikeys.Draft
	first := func() error { return draft.CheckFirst() }
	cmd := a.command("create", "Create a key and print it once", takes(0, 0), first, func(r keyring, cmd *cobra.Command, _ []string) error {
		made, err := r.create(cmd.Context(), d)
		if err != nil {
			return err
		}
		if a.output == "json" {
			return writeJSON(a.out, made)
		}
		fmt.Fprintf(a.err, "Key %s (%s of tenant %s) %s. It is for %s. It is shown only once:\n",
			made.ID, strings.Join(made.Scopes, ","), made.Tenant, expiryOf(made.Expires), r.where())
		_, err = fmt.Fprintln(a.out, made.Key)
		if made.Expires != nil && operators(&made.KeyInfo) {
			fmt.Fprintln(a.err, "Make another before it ends: without an admin key of tenant default, keys are only made where the store can be opened.")
		}
		return err
	})
	cmd.PreRunE = func(*cobra.Command, []string) (err error) { // checks the flags before a store is opened or created
		if d.Expires, err = readExpires(expires, now()); err != nil {
			return err
		}
		d.Scopes = scopes
		if draft, err = api.DraftOf(&d); err == nil {
			err = draft.Check(now())
		}
		return mistaken(err)
	}
	cmd.Example = "  varve keys create --scope admin --name ops > ops.key\n" +
		"  varve keys create --scope write --name gateway-7 --expires 90d --readings 5000\n" +
		"  varve keys create --scope read,write --tenant acme"
	fl := cmd.Flags()
	fl.StringSliceVar(&scopes, "scope", nil, "rights: read, write, or both with a comma; or admin, which includes all")
	fl.StringVar(&d.Tenant, "tenant", "", "tenant of the key (default: default, or the tenant of the key in use)")
	fl.StringVar(&d.Name, "name", "", "a `name` for people")
	fl.StringVar(&expires, "expires", "never", "when it ends: a time, a date, after a while as in 90d, or never")
	fl.Float64Var(&d.RequestsPerSecond, "requests", 0, "requests a second; 0 means no limit")
	fl.Float64Var(&d.ReadingsPerSecond, "readings", 0, "readings a second; 0 means no limit")
	a.words(cmd, "scope", apikeys.ScopeNames()...)
	return cmd
}

func expiryOf(end *time.Time) string {
	if end == nil {
		return "never expires"
	}
	return "expires on " + timeOrNever(end)
}

// readExpires parses the expiry of a key. It returns nil for a key that never expires.
func readExpires(text string, now time.Time) (*time.Time, error) {
	if text == "never" || text == "" {
		return nil, nil
	}
	if d, err := timefmt.ParseDuration(strings.TrimPrefix(text, "+")); err == nil && d != retention.Forever {
		at := now.Add(d)
		return &at, nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := timefmt.ParseTime(form, text, time.UTC); err == nil {
			return &at, nil
		}
	}
	return nil, usageError{fmt.Errorf("--expires: %q is not a time: write RFC 3339 as in 2027-04-20T14:00:00Z, a date, a while as in 90d, or never", text)}
}

func (a keyCommands) list() *cobra.Command {
	var limit int
	cmd := a.command("list", "List the keys, including keys that ended in the last 90 days", takes(0, 0), nil, func(r keyring, cmd *cobra.Command, _ []string) error {
		if limit < 0 {
			return errNegativeLimit(limit)
		}
		list, err := r.list(cmd.Context())
		if err != nil {
			return err
		}
		some, more := limited(list.Keys, limit)
		list.Keys = some
		g := listing{header: []string{"id", "tenant", "scopes", "state", "created", "expires", "last used", "rate", "name"},
			optional: []string{"rate", "created", "last used"},
			empty:    "No keys: varve keys create --scope admin creates the first."}
		for i := range list.Keys {
			k := &list.Keys[i]
			g.add(k.ID, k.Tenant, strings.Join(k.Scopes, ","), k.State, timeOrNever(&k.Created), timeOrNever(k.Expires), timeOrNever(k.Used), rateText(k), k.Name)
		}
		return errors.Join(a.show(&g, list), a.sayCut(more))
	})
	limitFlag(cmd, &limit, "keys")
	return cmd
}

func timeOrNever(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

func rateText(k *wire.KeyInfo) string {
	var bounds []string
	if k.RequestsPerSecond > 0 {
		bounds = append(bounds, fmt.Sprintf("%g requests/s", k.RequestsPerSecond))
	}
	if k.ReadingsPerSecond > 0 {
		bounds = append(bounds, fmt.Sprintf("%g readings/s", k.ReadingsPerSecond))
	}
	if bounds == nil {
		return "any"
	}
	return strings.Join(bounds, ", ")
}

// operators reports whether a key has the rights of an operator.
func operators(k *wire.KeyInfo) bool {
	return k.Tenant == varve.DefaultTenant && slices.Contains(k.Scopes, "admin")
}

// lastOne reports whether a key is the last active key of an operator.
func lastOne(list []wire.KeyInfo, id string) bool {
	is := false
	for i := range list {
		if k := &list[i]; k.State == "active" && operators(k) {
			if k.ID != id {
				return false
			}
			is = true
		}
	}
	return is
}

func (a keyCommands) revoke() *cobra.Command {
	force := false
	cmd := a.command("revoke ID", "End a key: at once here, within ten seconds in other servers", takes(1, 1), nil,
		func(r keyring, cmd *cobra.Command, args []string) error {
			id := apikeys.IDOf(args[0]) // use only the id, because a whole key must not occur in a URL
			if apikeys.Shows(id) || id == "" {
				return usageError{errors.New("neither an API key nor its id: varve keys list lists all ids")}
			}
			if !force {
				all, err := r.list(cmd.Context())
				if err != nil {
					return err
				}
				if lastOne(all.Keys, id) {
					return fmt.Errorf("%s is the last admin key of tenant %s: without one, keys are only made where the store can be opened. "+
						"Make another first, or revoke it all the same with --force", id, varve.DefaultTenant)
				}
			}
			k, err := r.revoke(cmd.Context(), id)
			if err != nil {
				return err
			}
			if a.output == "json" {
				return writeJSON(a.out, k)
			}
			_, err = fmt.Fprintf(a.out, "Key %s of tenant %s is revoked.\n", k.ID, k.Tenant)
			return err
		})
	cmd.Flags().BoolVar(&force, "force", false, "also the last admin key of tenant default")
	return cmd
}

// command returns a command that opens the keyring first.
func (a keyCommands) command(use, short string, args cobra.PositionalArgs, fresh func() error, do func(keyring, *cobra.Command, []string) error) *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			r, err := a.openKeyring(cmd, &f, fresh)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, r.close()) }()
			return do(r, cmd, args)
		},
	}
	f.addSome(cmd, storeFlag, dataFlag)
	outputs := []string{"table", "json"}
	if use == "list" {
		outputs = append(outputs, "ndjson", "csv")
	}
	cmd = a.remote(cmd, outputs...)
	cmd.Flags().Lookup("server").DefValue = "" // not shown by --help, because it applies only if a key is given
	cmd.MarkFlagsMutuallyExclusive("server", "store")
	cmd.MarkFlagsMutuallyExclusive("server", "data")
	return cmd
}
