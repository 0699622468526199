package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/internal/fileerr"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
)

// onlineRate is the default rate of a verification by a running server, in bytes a second.
const onlineRate = 16 << 20

// embeddedKind describes the embedded store, in a folder of one process.
func embeddedKind() storeKind {
	return storeKind{
		name: "local", holder: "embedded", extraThreads: 1, tables: 1, oneProcess: true,
		open:     openEmbedded,
		place:    func(c *config.Config) string { return "data folder " + c.Store.Dir },
		greeting: func(_ context.Context, c *config.Config, _ store.Store) string { return "in " + absolute(c.Store.Dir) },
		examine: func(ctx context.Context, c *config.Config, all bool) ([]dynamo.Finding, error) {
			return append(examineFolder(c.Store), examineDamage(ctx, c, all)...), nil
		},
		verify: func(ctx context.Context, c *config.Config, o verifyOptions) (string, error) {
			return "", local.CheckFolder(ctx, c.Store.Dir, o.rate, func(p local.Problem) { o.found(damageOfProblem(&p)) })
		},
		repair: func(ctx context.Context, a *app, c *config.Config, f *repairFlags) error {
			return repairer{a}.repairFolder(ctx, c, f)
		},
		verifyOpen: verifyEmbedded,
		register:   registerEmbedded,
	}
}

func openEmbedded(_ context.Context, o storeOptions) (store.Store, error) {
	c := o.config.Store
	if _, err := os.Stat(c.Dir); o.mustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, missingStore{fmt.Errorf("data folder %w: name it with --data, or a server with --server", fileerr.Short(err))}
	}
	minFree := int64(c.MinFree)
	if minFree == 0 {
		minFree = -1
	}
	st, err := local.Open(local.Options{
		Dir: c.Dir, Now: now, MemtableBytes: int64(c.Memory), CacheBytes: int64(c.Cache), MinFree: minFree,
		Conditions: o.conditions, Events: localEvents(o.log, o.fatal),
	})
	if err != nil {
		return nil, err
	}
	logLosses(o.log, st.Losses())
	return st, nil
}

// verifyEmbedded reads the whole store of a server, and adds the hours of all roll-ups to the random
// sample of hours.
func verifyEmbedded(ctx context.Context, st store.Store, v api.Verification, sample *rollup.HourSample) error {
	s, ok := st.(*local.Store)
	if !ok {
		return nil
	}
	pace := local.Pace{Rate: cmp.Or(v.Rate, onlineRate), Read: v.Read}
	if err := s.Verify(ctx, pace, func(p local.Problem) { v.Found(damageOfProblem(&p)) }); err != nil {
		return err
	}
	return sampleFolder(ctx, s, sample)
}

// registerEmbedded adds the metrics of the disk, of damage, and of the syncs of the journal.
func registerEmbedded(reg *prometheus.Registry, c *config.Config, st store.Store) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "varve_disk_free_bytes", Help: "Free space of the data folder's disk; NaN if unknown.",
	}, func() float64 {
		free, err := local.Free(c.Store.Dir)
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	}))
	if s, ok := st.(*local.Store); ok {
		registerDamage(reg, s)
		reg.MustRegister(newJournalSyncs(s))
	}
}

func examineFolder(s config.Store) []dynamo.Finding {
	f, err := local.Examine(s.Dir)
	folder := dynamo.Finding{Check: "data folder", State: dynamo.Good, Found: f.Dir}
	switch {
	case err != nil:
		folder.State, folder.Found = dynamo.Wrong, strings.TrimPrefix(err.Error(), "data folder ")
		folder.Remedy = "choose another folder with store.dir, or let the user that runs varve write to it"
		switch {
		case errors.Is(err, local.ErrFormat):
			folder.Found = strings.TrimSuffix(folder.Found, ": "+local.ErrFormat.Error())
			folder.Remedy = local.ErrFormat.Error() + ", or choose another folder with store.dir"
		case errors.Is(err, store.ErrDamaged):
			folder.Remedy = "mount what is missing, restore a backup, or save the rest with varve repair"
		}
	case !f.There:
		folder.Found += " does not exist yet: varve serve creates it"
	case f.Held != nil:
		folder.Found = strings.TrimSuffix(strings.TrimPrefix(f.Held.Error(), "data folder "), ": stop it or choose another folder")
	}
	return []dynamo.Finding{folder, examineDisk(f.Disk, int64(s.MinFree))}
}

func examineDisk(dir string, least int64) dynamo.Finding {
	disk := dynamo.Finding{Check: "disk", State: dynamo.Good}
	free, err := local.Free(dir)
	if err != nil {
		disk.State, disk.Found = dynamo.NotChecked, err.Error()
		return disk
	}
	disk.Found = bytesText(free) + " free"
	if free < least {
		disk.State, disk.Found = dynamo.Wrong, fmt.Sprintf("%s free, and %s are kept free (store.min_free): no readings are taken", bytesText(free), bytesText(least))
		disk.Remedy = "make room, or lower store.min_free"
	}
	return disk
}
