package query

import (
	"context"
	"hash/maphash"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// Options are what queries work with. All but Retention, Layouts and Parallel
// are required.
type Options struct {
	Reader  store.Reader
	Catalog store.Catalog
	Streams *streams.Registry
	Policy  *retention.Policy
	Now     func() time.Time
	// Retention, if set, returns the upper limit of the retention of a device's
	// readings.
	Retention func(ctx context.Context, tenant, device string) (time.Duration, error)
	// Layouts are how the readings of streams lie, by name, as configured: what
	// the registry has of a stream is widened to it.
	Layouts map[string]store.Layout
	// Parallel is how many tables one query may read at a time. 0 is 1, which
	// suits a store without a network in between.
	Parallel int
}

// Engine answers queries. It is safe for concurrent use.
type Engine struct {
	opts  Options
	sizes sizes
	large *semaphore.Weighted // shares of memory of the answers that are read in full pages
}

// New returns an engine.
func New(o Options) *Engine {
	o.Parallel = max(o.Parallel, 1)
	return &Engine{opts: o, sizes: sizes{seed: maphash.MakeSeed()}, large: semaphore.NewWeighted(largeAnswers)}
}

// Query asks for the readings of one series in a window.
type Query struct {
	Series     varve.Series
	Window     varve.Window
	Order      varve.Order
	After      *varve.Position // only readings beyond it, in Order
	Limit      int             // at most so many; 0: all
	Fields     []string        // only these fields of each reading; none: all
	Consistent bool            // see every reading acknowledged before
	Expired    bool            // also what has expired and is not dropped yet
	// SkipDamaged leaves damaged rows out, and names them in the coverage.
	// Otherwise they fail the query.
	SkipDamaged bool
}

// Validate checks what can be said of a query without a store.
func (q *Query) Validate() error {
	if v := q.Series.Validate(); v.Outcome == varve.Rejected {
		param := "device"
		if v.Code == varve.CodeStreamInvalid {
			param = "stream"
		}
		return varve.InvalidParam(param, "%s", v.Message)
	}
	if err := q.Window.Validate(); err != nil {
		return varve.InvalidParam("to", "%s", err)
	}
	if q.Limit < 0 {
		return varve.InvalidParam("limit", "%d is negative", q.Limit)
	}
	return nil
}

// Coverage says which tables an answer rests on, by name.
type Coverage struct {
	Read    []string `json:"read"`    // they were read
	Expired []string `json:"expired"` // all that they can hold has expired
	Missing []string `json:"missing"` // they were dropped while the query ran, or somebody deleted them
	// Failed could not be read: the answer is an error, or lacks their damaged
	// rows.
	Failed []string `json:"failed"`
	// Damaged are rows that were skipped, as asked.
	Damaged []store.DamagedRow `json:"damaged,omitempty"`
	// Conflicts is how many readings have copies with other values, which arrived
	// in later months and are not shown.
	Conflicts int `json:"conflicts,omitempty"`
	// Listed is how fresh the list of tables is: those first used until then are
	// in it.
	Listed time.Time `json:"listed,omitzero"`
	// MoreRead and MoreExpired are how many further tables there are, if the
	// lists were cut because they had no room where they are sent.
	MoreRead    int `json:"more_read,omitempty"`
	MoreExpired int `json:"more_expired,omitempty"`
	MoreDamaged int `json:"more_damaged,omitempty"`
}
