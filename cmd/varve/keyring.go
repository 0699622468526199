package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store"
)

// keyring creates, lists and revokes keys, through a server or in the store itself.
type keyring interface {
	create(ctx context.Context, d wire.KeyDraft) (wire.NewKey, error)
	list(ctx context.Context) (wire.KeyList, error)
	revoke(ctx context.Context, id string) (wire.KeyInfo, error)
	// where names the server or the store.
	where() string
	close() error
}

// openKeyring opens the first of these that applies:
//
//   - the server that --server names, or VARVE_SERVER if no store is named
//   - the server of the configuration, if a key is given and no store is named
//   - the store of the configuration
//
// If the store does not exist, it is created only if the function "fresh" is not nil and returns nil.
func (a keyCommands) openKeyring(cmd *cobra.Command, f *configFlags, fresh func() error) (keyring, error) {
	named := cmd.Flags().Changed("store") || cmd.Flags().Changed("data") ||
		slices.ContainsFunc(f.set, func(set string) bool { return strings.HasPrefix(set, "store.") })
	if cmd.Flags().Changed("server") || os.Getenv("VARVE_SERVER") != "" && !named {
		c, err := a.client()
		return serverKeyring{c, a.server}, err
	}
	loaded, err := f.load(a.app)
	if err != nil {
		return nil, err
	}
	c := &loaded.Config
	if a.access.given() && !named {
		a.server = c.Server.URL(c.Server.Listen)
		c, err := a.client()
		return serverKeyring{c, a.server}, err
	}
	kind := kindOf(c)
	if kind.inProcess {
		return nil, usageError{errors.New("a store in memory is only reached through its server: name it with --server")}
	}
	options := storeOptions{config: c, log: a.logger(config.Log{Level: "error"}), fatal: a.fatal, mustExist: true}
	st, err := kind.open(cmd.Context(), options)
	if errors.As(err, &missingStore{}) && fresh != nil {
		if err := mistaken(fresh()); err != nil {
			return nil, err
		}
		options.mustExist = false
		st, err = kind.open(cmd.Context(), options)
	}
	switch {
	case err == nil:
		return storeKeyring{st, apikeys.New(st, now), kind.place(c)}, nil
	case kind.oneProcess && varve.FailureOf(err) == varve.Conflict:
		return nil, fmt.Errorf("%w; or name its server, as with --server %s", err, c.Server.URL(c.Server.Listen))
	}
	return nil, err
}

type serverKeyring struct {
	c   *client.Client
	url string
}

func (s serverKeyring) where() string { return "the server " + s.url }

func (s serverKeyring) create(ctx context.Context, d wire.KeyDraft) (wire.NewKey, error) {
	return s.c.CreateKey(ctx, d)
}

func (s serverKeyring) list(ctx context.Context) (wire.KeyList, error) { return s.c.Keys(ctx) }

func (s serverKeyring) revoke(ctx context.Context, id string) (wire.KeyInfo, error) {
	return s.c.RevokeKey(ctx, id)
}

func (s serverKeyring) close() error { return nil }

// storeKeyring manages the keys in a store that this process opened. A user who can open the store can
// manage all keys.
type storeKeyring struct {
	store    store.Store
	registry *apikeys.Registry
	place    string
}

func (k storeKeyring) where() string { return k.place }

func (k storeKeyring) create(ctx context.Context, b wire.KeyDraft) (made wire.NewKey, err error) {
	d, err := api.DraftOf(&b)
	if err != nil {
		return made, mistaken(err)
	}
	key, text, err := k.registry.Create(ctx, d)
	if err != nil {
		return made, mistaken(err)
	}
	return wire.NewKey{KeyInfo: api.KeyInfo(&key, now()), Key: text}, nil
}

// mistaken converts an error about an invalid value to a usage error.
func mistaken(err error) error {
	var e *varve.Error
	if errors.As(err, &e) && e.Failure == varve.Invalid {
		return usageError{errors.New(e.Message)}
	}
	return err
}

func (k storeKeyring) list(ctx context.Context) (list wire.KeyList, err error) {
	all, err := k.registry.List(ctx, "")
	list.Keys = []wire.KeyInfo{}
	for i := range all {
		list.Keys = append(list.Keys, api.KeyInfo(&all[i], now()))
	}
	return list, err
}

func (k storeKeyring) revoke(ctx context.Context, id string) (info wire.KeyInfo, err error) {
	key, err := k.registry.Revoke(ctx, "", id)
	return api.KeyInfo(&key, now()), err
}

func (k storeKeyring) close() error { return k.store.Close() }
