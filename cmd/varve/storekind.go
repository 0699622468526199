package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
)

// storeKind describes one kind of store, with all functions that differ between kinds. A new kind
// requires an element in storeKinds, and its name in config.StoreKinds.
type storeKind struct {
	name string // value of store.kind
	// open opens the store, and creates a missing one. If storeOptions.mustExist is set, it fails with
	// missingStore instead. The open store calls fatal if it can never continue.
	open func(ctx context.Context, o storeOptions) (store.Store, error)
	// place names the store for users.
	place func(c *config.Config) string
	// greeting names the open store in the line "data" that serve prints.
	greeting func(ctx context.Context, c *config.Config, st store.Store) string
	// examine checks that the store can work, for varve doctor. If "all" is true, it reads
	// everything in the store.
	examine func(ctx context.Context, c *config.Config, all bool) ([]dynamo.Finding, error)
	// verify reports damage in a store that is not open, and returns a summary to
	// print. It is nil for a store that exists only in memory.
	verify func(ctx context.Context, c *config.Config, o verifyOptions) (summary string, err error)
	// repair runs varve repair. It is nil for a store that exists only in memory.
	repair func(ctx context.Context, a *app, c *config.Config, f *repairFlags) error
	// verifyOpen verifies the store of a running server. It adds hours to the random sample of hours
	// whose roll-ups are compared with readings. It is nil for a store that exists only in memory.
	verifyOpen func(ctx context.Context, st store.Store, v api.Verification, sample *rollup.HourSample) error
	// register adds the store's metrics. If nil, the store has no metrics.
	register func(reg *prometheus.Registry, c *config.Config, st store.Store)

	holder       string // holder of leases; if empty, the engine chooses a unique name
	extraThreads int    // number of threads of the store that mostly wait for the disk
	tables       int    // number of tables that a query reads at a time
	reads        int    // number of concurrent reads of the store; 0 means one per processor
	hasQuota     bool   // whether an AWS account limits the number of tables and bills requests
	inProcess    bool   // whether the store exists only inside its server
	oneProcess   bool   // whether opening fails with varve.Conflict while another process has the store open
}

// verifyOptions are the arguments of storeKind.verify.
type verifyOptions struct {
	rate    int64 // limit of the verification, in bytes or read units per second; 0 means no limit
	sampled sampleFlags
	found   func(wire.Damage)
}

// storeOptions are the arguments of storeKind.open.
type storeOptions struct {
	config     *config.Config
	log        zerolog.Logger
	conditions *health.Conditions
	fatal      func(msg string)
	mustExist  bool // whether a missing store is an error
}

// missingStore is the error about a store that does not exist.
type missingStore struct{ error }

// storeKinds returns the kinds of stores. The first is the default.
func storeKinds() []storeKind { return []storeKind{embeddedKind(), dynamoKind(), memoryKind()} }

func kindOf(c *config.Config) storeKind {
	kinds := storeKinds()
	for _, k := range kinds {
		if k.name == c.Store.Kind {
			return k
		}
	}
	return kinds[0]
}
