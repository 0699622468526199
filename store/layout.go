package store

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// Layout determines the rows of a series in a store that puts several readings into one row.
//
// Only the store on DynamoDB uses it; other stores ignore it. With the zero Layout, a row covers
// one millisecond, a series has one partition key, and the store deletes no readings on its own.
//
// A read finds all readings if its layout is at least as wide as the layout of the writes. A layout
// is at least as wide as another one if its RowWindow is a multiple of the other's, and its Shards is
// not smaller.
type Layout struct {
	// RowWindow is the time that one row covers. It is a whole number of milliseconds and divides
	// [MaxRowWindow]. 0 means one millisecond.
	RowWindow time.Duration
	// Shards is the number of partition keys over which a series is spread. 0 means 1.
	Shards int
	// Expect predicts whether the rows of a write exist already.
	Expect Expect
	// DeleteAfter is the time after which the store may delete written readings on its own.
	//
	// It is counted from the later of event time and arrival. 0 means never.
	DeleteAfter time.Duration
}

// StreamLayout is the layout of a stream as its tables record it.
type StreamLayout struct {
	Tenant   string
	Stream   string
	Prefixes []string       // prefixes of the tables that contain or contained the stream's readings, sorted
	Window   time.Duration  // row window with which reads find the stream's rows in all tables; 0 if no table has such rows
	Shards   map[string]int // number of shards by device; only devices with several shards
}

// LayoutReader is the optional contract of stores whose tables record the layouts of streams. With
// it, a registry that lost a stream can be repaired.
type LayoutReader interface {
	// StreamLayout returns the layout of a stream in all tables of this deployment. The result may be
	// up to a minute old.
	StreamLayout(ctx context.Context, tenant, stream string) (StreamLayout, error)
	// StreamLayouts returns the current layouts of all streams, ordered by tenant and name.
	StreamLayouts(ctx context.Context) ([]StreamLayout, error)
}

// Limits of a layout.
const (
	MaxRowWindow = time.Hour
	MaxShards    = 64
)

// Expect is the expected state of a row before a write. If the expectation is wrong, the write
// needs one more request, but has the same result.
type Expect uint8

// The states of a row that a write may expect.
const (
	ExpectAuto     Expect = iota // expect the state in which the store found recent rows of the series
	ExpectNew                    // the row is missing
	ExpectExisting               // the row exists
)

// Validate returns an Invalid error with the parameter row_window or shards if the value of this
// parameter is not permitted.
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

// Window returns RowWindow or its default.
func (l Layout) Window() time.Duration { return max(l.RowWindow, time.Millisecond) }

// Widen returns the narrowest layout that finds the readings of both layouts.
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
