package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
)

// sampleSize is the default number of hours of roll-ups that a verification compares.
const sampleSize = 50

// sampleFlags select the random sample of hours whose roll-ups a verification compares with readings.
type sampleFlags struct {
	n    int    // number of hours whose roll-ups are compared
	seed uint64 // seed of the choice of hours; 0 means a random one
}

func (f *sampleFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.n, "rollups", sampleSize, "on DynamoDB, the number of hours of devices whose roll-ups are compared with their readings; 0 means none")
	flags.Uint64Var(&f.seed, "seed", 0, "on DynamoDB, choose the same hours as a verification that printed this seed; 0 means at random")
}

// choose draws a random seed if the seed is missing, and replaces a negative sample size with 0.
func (f *sampleFlags) choose() {
	f.n = max(f.n, 0)
	for f.seed == 0 {
		f.seed = rand.Uint64()
	}
}

// verification returns the options with which a store on DynamoDB is verified.
func verification(rate int64, sample *rollup.HourSample, found func(wire.Damage)) dynamo.Verification {
	return dynamo.Verification{
		Rate: float64(rate), Found: func(row store.DamagedRow) { found(damageOfRow(&row)) }, Reading: sample.Add,
	}
}

// checkSample compares the roll-ups of a random sample of hours with their readings.
func checkSample(
	ctx context.Context, sample *rollup.HourSample, seed uint64, r *rollup.Reader,
	alive func(context.Context, varve.Series, time.Time) (bool, error), found func(wire.Damage),
) (rollup.Outcomes, error) {
	done, err := sample.Check(ctx, r, alive, func(d rollup.Difference) {
		found(wire.Damage{Place: d.Series.String(), Problem: fmt.Sprintf("%s (seed %d)", d.String(), seed)})
	})
	if err != nil {
		return done, fmt.Errorf("compare roll-ups: %w", err)
	}
	return done, nil
}

// sampledText returns the numbers of compared and skipped hours as a sentence.
func sampledText(done rollup.Outcomes, seed uint64) string {
	var parts []string
	for _, p := range []struct {
		outcome rollup.Outcome
		text    string
	}{
		{rollup.ReadingGone, "skipped, as their readings have expired or were dropped"},
		{rollup.Dirty, "skipped, as they have yet to be counted"},
		{rollup.Unreadable, "skipped, as their readings are damaged"},
	} {
		if n := done[p.outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("; %d %s", n, p.text))
		}
	}
	return fmt.Sprintf("Roll-ups of %s compared with their readings, --seed %d%s.", count(done[rollup.Compared], "hour"), seed, strings.Join(parts, ""))
}

// aliveBy returns a function that reports whether no reading of an hour can have expired. It considers
// the retention of the classes, the stream and the device.
func aliveBy(policy *retention.Policy, known *devices.Registry) func(context.Context, varve.Series, time.Time) (bool, error) {
	return func(ctx context.Context, s varve.Series, at time.Time) (bool, error) {
		least, err := known.Retention(ctx, s.Tenant, s.Device)
		if err != nil {
			return false, err
		}
		for _, class := range policy.Classes {
			least = min(least, policy.RetentionOf(s.Stream, class.Name))
		}
		return at.After(retention.Cutoff(now(), least)), nil
	}
}

// sampleFolder adds the hours of all roll-ups of an embedded store to the random sample of hours.
func sampleFolder(ctx context.Context, s *local.Store, sample *rollup.HourSample) error {
	all, err := seriesOf(ctx, s)
	if err != nil {
		return err
	}
	for _, series := range all {
		err := rollup.ScanHours(ctx, s, series, func(at time.Time) { sample.Add(series, at) })
		if err != nil && !errors.Is(err, store.ErrDamaged) { // the verification of the folder reports damage
			return err
		}
	}
	return nil
}
