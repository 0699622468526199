package query

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// Options has the dependencies of queries. All but Retention, Layouts, Parallel and Archive are
// required.
type Options struct {
	Reader  store.Reader
	Catalog store.Catalog
	Streams *streams.Registry
	Policy  *retention.Policy
	Now     func() time.Time
	// Retention, if set, returns the upper limit of the retention of a device's
	// readings.
	Retention func(ctx context.Context, tenant, device string) (time.Duration, error)
	// Layouts has the configured layout of each stream, by name. A query reads rows of this layout
	// and of the registered one.
	Layouts map[string]store.Layout
	// Parallel limits the tables that one query reads at the same time. 0 means 1, which suits a
	// local store. A query that reads archives has a limit of at least 4.
	Parallel int
	// Archive lists archived tables. If nil, a query that requests them fails.
	Archive Archive
}

// Engine runs queries. It is safe for concurrent use.
type Engine struct {
	opts  Options
	sizes sizes
	large *semaphore.Weighted // limits the answers that use full pages
}

// New returns an engine.
func New(o Options) *Engine {
	o.Parallel = max(o.Parallel, 1)
	return &Engine{opts: o, sizes: sizes{seed: maphash.MakeSeed()}, large: semaphore.NewWeighted(largeAnswers)}
}

// Query selects the readings of one series in a window.
type Query struct {
	Series     varve.Series
	Window     varve.Window
	Order      varve.Order
	After      *varve.Position // if set, only readings after this position, in Order, are returned
	Limit      int             // maximum number of readings; 0 means all
	Fields     []string        // if not empty, only these fields of each reading are returned
	Consistent bool            // includes every acknowledged reading
	Expired    bool            // includes expired readings that are not dropped yet
	// AsOf, if set, excludes readings that arrived later. Of several copies of a reading, only
	// copies that had arrived count. AsOf must not be in the future.
	AsOf time.Time
	// Versions includes all versions of a reading. Otherwise, only the highest version counts,
	// among the live versions that had arrived by AsOf.
	Versions  bool
	isScan    bool // for ScanCopies: columns contain no versions, and no page ends between two versions
	byArrival bool // for ScanArrivals: AsOf may be in the future, and the plan includes the expiry of tables
	// Archive selects archived tables. Copies of a reading in archives and in existing tables are one
	// reading.
	Archive Archives
	// SkipDamaged omits damaged rows and lists them in the coverage. Otherwise, a damaged row makes
	// the query fail.
	SkipDamaged bool
	// Where selects readings by their values. If it is not empty, pages may be short, and More may
	// be set though no further reading matches.
	Where filter.Filter
	// ScanLimit is the number of compared readings after which a query with Where ends early, with More
	// set. The page that reaches the limit is compared to its end. 0 means no limit.
	ScanLimit int
}

// Validate checks the query as far as possible without a store.
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
	if q.ScanLimit < 0 {
		return varve.InvalidParam("scan_limit", "%d is negative", q.ScanLimit)
	}
	return nil
}

// Coverage lists the tables on which an answer rests, by name.
type Coverage struct {
	Read    []string `json:"read"`    // tables that were read
	Expired []string `json:"expired"` // tables whose readings have all expired
	// Archived lists the tables whose archives were read.
	Archived []string `json:"archived,omitempty"`
	// Expiry is the part of the window whose readings have expired, if any.
	Expiry *Expiry `json:"expiry,omitempty"`
	// AsOf describes the answer to a query as of an earlier time.
	AsOf    *AsOf    `json:"as_of,omitempty"`
	Missing []string `json:"missing"` // tables that were dropped during the query or deleted by another program
	// Failed lists the tables that could not be read. The answer is an error, or lacks their
	// damaged rows.
	Failed []string `json:"failed"`
	// Damaged lists the rows that were skipped on request.
	Damaged []store.DamagedRow `json:"damaged,omitempty"`
	// Conflicts is the number of readings with further live copies whose values differ. The answer
	// omits these copies, which arrived later.
	Conflicts int `json:"conflicts,omitempty"`
	// Listed is the time at which the tables were listed. The list includes all tables that were used
	// before that time.
	Listed time.Time `json:"listed,omitzero"`
	// MoreRead, MoreExpired, MoreArchived, MoreMissing, MoreFailed and MoreDamaged count the entries that
	// were cut from long lists.
	MoreRead     int `json:"more_read,omitempty"`
	MoreExpired  int `json:"more_expired,omitempty"`
	MoreArchived int `json:"more_archived,omitempty"`
	MoreMissing  int `json:"more_missing,omitempty"`
	MoreFailed   int `json:"more_failed,omitempty"`
	MoreDamaged  int `json:"more_damaged,omitempty"`
}

// AddMissing adds the missing tables of another coverage.
func (c *Coverage) AddMissing(o *Coverage) {
	c.Missing = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.Missing, o.Missing))))
	c.MoreMissing = max(c.MoreMissing, o.MoreMissing)
}
