package query

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// planned is a table that the query must read.
type planned struct {
	grid.Table
	cutoff time.Time // if set, readings with event time and arrival at or before it are omitted as expired
	asOf   time.Time // if set, readings that arrived later are left out

	archived    *Archived // if set, the query reads this archive of the table
	replacement *Archived // if set, the query reads this archive if the table is missing
	expiry      time.Time // like cutoff, but set even if the query includes expired readings; the zero time for an archive
}

type plan struct {
	tables   []planned
	expired  []string
	later    []pruned  // tables whose readings all arrived after AsOf
	asOf     *AsOf     // nil unless the query has AsOf
	complete time.Time // event time from which no reading of the window can have expired
	expiry   *Expiry   // nil if no reading of the window can have expired
	lost     []string  // tables that another program deleted
	layout   store.Layout
	listed   time.Time // the plan includes all tables that were used before this time
}

// known is the input of a plan: the stream, and how recent the list of tables must be.
type known struct {
	stream  streams.Stream
	fresh   bool
	version string
	at      time.Time
}

// knownStream returns the input of plans for a stream. If the catalog has a version, one request reads the
// stream and that version. A consistent query needs no version, because it lists the tables without
// a cache.
func (e *Engine) knownStream(ctx context.Context, tenant, stream string, consistent bool) (k known, err error) {
	k = known{fresh: consistent, at: e.opts.Now()}
	if catalog, ok := e.opts.Catalog.(store.Versioned); ok && !consistent {
		k.stream, k.version, err = e.opts.Streams.Current(ctx, tenant, stream, catalog.VersionKey())
		return k, err
	}
	k.stream, err = e.opts.Streams.Get(ctx, tenant, stream, consistent)
	return k, err
}

// plan returns the tables that overlap the window of a query and may contain live readings. It
// ignores whether a table is retired, because the clock or the retention may have changed since.
func (e *Engine) plan(ctx context.Context, q *Query, k *known) (plan, error) {
	s := q.Series
	if err := CheckAsOf(q.AsOf, e.opts.Now()); err != nil && !q.byArrival {
		return plan{}, err
	}
	most := retention.Forever
	if e.opts.Retention != nil && (!q.Expired || q.byArrival) {
		var err error
		if most, err = e.opts.Retention(ctx, s.Tenant, s.Device); err != nil {
			return plan{}, err
		}
	}
	retentions := e.retentions(&k.stream, most)
	f := store.Filter{Window: q.Window, SkipEmpty: true, Lost: true, Fresh: k.fresh, Version: k.version}
	for prefix := range retentions {
		f.Prefixes = append(f.Prefixes, prefix)
	}
	infos, err := e.opts.Catalog.Tables(ctx, f)
	if err != nil {
		return plan{}, fmt.Errorf("list tables: %w", err)
	}
	now := e.opts.Now()
	configured := store.Layout{RowWindow: e.opts.Layouts[s.Stream].RowWindow}
	p := plan{layout: k.stream.Layout(s.Device).Widen(configured), listed: k.at}
	for i := range infos {
		in := &infos[i]
		if !in.Owned {
			continue // a foreign table with a similar name
		}
		expiry := retention.Cutoff(now, retentions[in.Prefix])
		cutoff := expiry
		if q.Expired {
			cutoff = time.Time{}
		}
		if hasExpired(in.Table, cutoff) {
			p.expired = append(p.expired, in.Name())
			continue
		}
		if !in.Lost.IsZero() {
			p.lost = append(p.lost, in.Name())
		}
		if in.Status == store.Gone {
			continue
		}
		if why := whyLater(in.Table, q.AsOf); why != "" {
			p.later = append(p.later, pruned{in.Table, why})
			continue
		}
		p.tables = append(p.tables, planned{Table: in.Table, cutoff: cutoff, expiry: expiry, asOf: limitOf(in.Table, q.AsOf)})
	}
	if err := e.addArchives(ctx, q, &p, &f, infos); err != nil {
		return plan{}, err
	}
	if !q.Expired {
		p.expiry = expiryOf(q.Window, e.longestRule(s.Stream, most, p.tables), now, len(p.expired))
	}
	p.complete = completeFrom(q.Window, slices.Min(slices.Collect(maps.Values(retentions))), now)
	p.asOf = asOfCoverage(q, p.complete, len(p.later))
	return p, nil
}

// longestRule returns the longest retention of a stream in its current class and in the classes of
// some tables. A reading that has expired under this rule has expired in all these classes.
func (e *Engine) longestRule(stream string, most time.Duration, tables []planned) rule {
	policy := e.opts.Policy
	longest := ruleOf(policy, stream, policy.ClassOf(stream).Name, most)
	seen := ""
	for i := range tables {
		if tables[i].Prefix == seen {
			continue
		}
		seen = tables[i].Prefix
		if class, ok := policy.ClassOfPrefix(seen); ok {
			if r := ruleOf(policy, stream, class.Name, most); r.keep > longest.keep {
				longest = r
			}
		}
	}
	return longest
}

// retentions returns the retention of a series for each prefix of its tables: one for its current
// class, and one for each earlier class. The retention of the device limits each of them.
func (e *Engine) retentions(s *streams.Stream, most time.Duration) map[string]time.Duration {
	policy := e.opts.Policy
	retentions := map[string]time.Duration{}
	for _, class := range append(slices.Clone(s.Classes), policy.ClassOf(s.Name).Name) {
		retentions[policy.TablePrefix(class)] = min(policy.RetentionOf(s.Name, class), most)
	}
	return retentions
}

// hasExpired reports whether every possible reading of a table has expired.
func hasExpired(t grid.Table, cutoff time.Time) bool {
	return !t.Month.End().After(cutoff) && !time.Unix(t.End, 0).After(cutoff)
}

// inOrder sorts the tables by event range, in the given order, and then by arrival month.
func (p *plan) inOrder(o varve.Order) {
	slices.SortFunc(p.tables, func(a, b planned) int {
		if o == varve.Descending {
			return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(b.Month, a.Month))
		}
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Month, b.Month))
	})
}

// PlannedTable describes one table in the explanation of a query.
type PlannedTable struct {
	Name   string     `json:"name"`
	From   time.Time  `json:"from"`   // start of the event range
	To     time.Time  `json:"to"`     // end of the event range
	Month  grid.Month `json:"-"`      // arrival month
	Action string     `json:"action"` // read, or skip
	Why    string     `json:"why"`    // the reason for the action
	Cost   store.Cost `json:"-"`      // estimated cost of reading the table; 0 if it is skipped
}

// Explanation has the tables that a query would read or skip, and the estimated cost.
type Explanation struct {
	Tables []PlannedTable
	Cost   store.Cost // cost of all tables, if the query is read to its end
	Expiry *Expiry    // the part of the window whose readings have expired, if any
}

// Explain returns the tables and the estimated cost of a query. It reads no table.
func (e *Engine) Explain(ctx context.Context, q Query) (Explanation, error) {
	if err := q.Validate(); err != nil {
		return Explanation{}, err
	}
	q = q.normalized()
	k, err := e.knownStream(ctx, q.Series.Tenant, q.Series.Stream, true)
	if err != nil {
		return Explanation{}, err
	}
	p, err := e.plan(ctx, &q, &k)
	if err != nil {
		return Explanation{}, err
	}
	p.inOrder(q.Order)
	x := Explanation{Expiry: p.expiry}
	for _, t := range p.tables {
		one, err := e.explainTable(ctx, &q, &p, &t)
		if err != nil {
			return Explanation{}, err
		}
		x.Cost.Add(one.Cost)
		x.Tables = append(x.Tables, one)
	}
	for _, name := range p.lost {
		if t, ok := grid.Parse(name); ok && !slices.ContainsFunc(p.tables, func(r planned) bool { return r.Table == t }) {
			x.Tables = append(x.Tables, explained(t, "skip", "another program deleted it", store.Cost{}))
		}
	}
	for _, name := range p.expired {
		if t, ok := grid.Parse(name); ok {
			x.Tables = append(x.Tables, explained(t, "skip", "all its readings have expired", store.Cost{}))
		}
	}
	for _, t := range p.later {
		x.Tables = append(x.Tables, explained(t.Table, "skip", t.why, store.Cost{}))
	}
	return x, nil
}

// whyRead returns the reason for reading a table. It includes the time before which readings have
// expired, if any.
func (t *planned) whyRead() string {
	const why = "its event range overlaps the window"
	if t.cutoff.Unix() < t.Start || !t.cutoff.After(t.Month.Start()) {
		return why
	}
	return fmt.Sprintf("%s; readings that happened and arrived before %s have expired", why, t.cutoff.UTC().Format(time.RFC3339))
}

func explained(t grid.Table, action, why string, cost store.Cost) PlannedTable {
	w := t.Window()
	return PlannedTable{Name: t.Name(), From: w.From, To: w.To, Month: t.Month, Action: action, Why: why, Cost: cost}
}

func (q *Query) rangeOf(t grid.Table, l store.Layout, after *varve.Position, limit int) store.Range {
	return store.Range{
		Table: t, Series: q.Series, Window: q.Window, Order: q.Order,
		After: after, Limit: limit, Consistent: q.Consistent, Layout: l,
	}
}
