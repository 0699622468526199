package store

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// Layout says how a stream's readings lie in a store that puts several of them
// into a row. Other stores ignore it. The zero Layout is rows of a millisecond,
// one key for each series, and no expiry by the store itself.
//
// What was written with one layout is found with any that is at least as wide:
// RowWindow a multiple, Shards no fewer.
type Layout struct {
	// RowWindow is how much time a row holds: a part of [MaxRowWindow] without
	// remainder, in whole milliseconds. 0 is a millisecond.
	RowWindow time.Duration
	// Shards is over how many keys a series is spread; 0 is 1.
	Shards int
	// Expect, for writes, is what rows are mostly found to be.
	Expect Expect
	// Keep, for writes, is how long the store must keep readings at the least
	// after both their event time and arrival, before it may delete them by
	// itself. 0 is for ever.
	Keep time.Duration
}

// Survey is what tables themselves say of a stream in them.
type Survey struct {
	Tenant   string
	Stream   string
	Prefixes []string       // of the tables that have or had readings of it, sorted
	Window   time.Duration  // finds its rows in all of them; 0 if there are none
	Shards   map[string]int // by device, of those that are spread
}

// Surveyor is a store whose tables say how the streams in them lie, so that a
// registry that lost a stream can be mended.
type Surveyor interface {
	// Survey returns what all tables of this deployment say of a stream. It may
	// be a minute old.
	Survey(ctx context.Context, tenant, stream string) (Survey, error)
	// SurveyAll returns what all tables say now of all streams, by tenant and name.
	SurveyAll(ctx context.Context) ([]Survey, error)
}

// Bounds of a layout.
const (
	MaxRowWindow = time.Hour
	MaxShards    = 64
)

// Expect is what a write expects of a row. Expecting the other costs a request
// more, and is never wrong.
type Expect uint8

// What can be expected.
const (
	ExpectAuto     Expect = iota // what was found of the series last
	ExpectNew                    // that it is not there yet
	ExpectExisting               // that it is there
)

// Validate returns what is wrong with a layout, as an Invalid error with the
// parameter row_window or shards.
func (l Layout) Validate() error {
	switch w := l.RowWindow; {
	case w == 0:
	case w < time.Millisecond, w > MaxRowWindow, MaxRowWindow%w != 0, w%time.Millisecond != 0:
		return varve.InvalidParam("row_window", "%s is not a whole part of an hour in whole milliseconds, as 1ms, 1s, 1m, 15m or 1h are", w)
	}
	if l.Shards < 0 || l.Shards > MaxShards {
		return varve.InvalidParam("shards", "%d is not from 1 to %d", l.Shards, MaxShards)
	}
	return nil
}

// Window returns RowWindow, with its default.
func (l Layout) Window() time.Duration { return max(l.RowWindow, time.Millisecond) }

// Widen returns a layout that finds what was written with either.
func (l Layout) Widen(other Layout) Layout {
	a, b := l.Window().Milliseconds(), other.Window().Milliseconds()
	l.RowWindow = time.Duration(a/gcd(a, b)*b) * time.Millisecond
	l.Shards = max(l.Shards, other.Shards)
	return l
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
