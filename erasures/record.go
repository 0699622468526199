package erasures

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	recordsPK = "ERASURES"
	// openPK is the partition key of the erasures that are not done, in the first index.
	openPK = "ERASURES_OPEN"
)

// State is the state of an erasure.
type State string

// The states of an erasure.
const (
	Erasing  State = "erasing"  // data is being deleted
	Settling State = "settling" // all data that is not on hold was deleted, and will be searched once more
	Held     State = "held"     // only tables and archives on hold have data; the erasure continues after their release
	Done     State = "done"     // no data of the target is left
)

// Record describes an erasure, also after its end. It has no readings.
type Record struct {
	ID string
	Target
	Arrived time.Time // readings that arrived later are not erased
	Begun   time.Time
	By      string // id of the API key; "" if keys are off
	State   State
	Next    time.Time // when the work continues; zero if the erasure is done
	Ended   time.Time // when the erasure was done; zero before that
	Problem string    // error of the last attempt; "" if it succeeded
	Passes  int       // number of searches of all data

	Planned []Count // numbers of readings in the tables of the plan
	Erased  []Count // numbers of readings that were erased, by table or archive
	Holds   []Count // numbers of readings of the target in tables and archives on hold
	Traces  Traces  // numbers of deleted records by kind

	rollupsDue bool // the stored roll-ups may still include erased readings

	failures int // number of failed attempts since the last success
	version  int64
}

// content is the part of a record that is stored as JSON.
type content struct {
	Planned  []Count `json:"planned"`
	Erased   []Count `json:"erased"`
	Holds    []Count `json:"holds"`
	Traces   Traces  `json:"traces"`
	Passes   int     `json:"passes"`
	Failures int     `json:"failures"`
	Rollups  bool    `json:"rollups_due"`
}

func newRecord(p *Plan, now time.Time, by string) (Record, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return Record{}, err
	}
	id := now.Format("20060102-150405-") + hex.EncodeToString(b[:])
	return Record{ID: id, Target: p.Target, Arrived: p.Arrived, Begun: now, By: by, State: Erasing, Next: now, Planned: p.Tables, rollupsDue: true}, nil
}

func recordKey(id string) store.Key { return store.Key{PK: recordsPK, SK: id} }

func (r *Record) item() (store.Item, error) {
	data, err := json.Marshal(content{r.Planned, r.Erased, r.Holds, r.Traces, r.Passes, r.failures, r.rollupsDue})
	if err != nil {
		return store.Item{}, err
	}
	attrs := map[string]varve.Value{
		"from": varve.IntValue(r.Window.From.UnixNano()), "to": varve.IntValue(r.Window.To.UnixNano()),
		"data": varve.StringValue(string(data)), "version": varve.IntValue(r.version),
	}
	for name, text := range map[string]string{
		"tenant": r.Tenant, "device": r.Device, "stream": r.Stream, "by": r.By, "state": string(r.State), "problem": r.Problem,
	} {
		registry.PutText(attrs, name, text)
	}
	for name, at := range map[string]time.Time{"arrived": r.Arrived, "begun": r.Begun, "next": r.Next, "ended": r.Ended} {
		registry.PutTime(attrs, name, at)
	}
	it := store.Item{Key: recordKey(r.ID), Attrs: attrs}
	if r.State != Done {
		it.GSI1 = store.Key{PK: openPK, SK: r.ID}
	}
	return it, nil
}

func parseRecord(it *store.Item) (Record, error) {
	rd := registry.NewReader(it)
	at := func(name string) time.Time { return time.Unix(0, registry.Int(it.Attrs[name])).UTC() }
	r := Record{
		ID: it.SK, Target: Target{Tenant: rd.Text("tenant"), Device: rd.Text("device"), Stream: rd.Text("stream"), Window: varve.Window{From: at("from"), To: at("to")}},
		By: rd.Text("by"), State: State(rd.Text("state")), Problem: rd.Text("problem"),
		Arrived: rd.Time("arrived"), Begun: rd.Time("begun"), Next: rd.Time("next"), Ended: rd.Time("ended"), version: registry.Int(it.Attrs["version"]),
	}
	var c content
	if err := json.Unmarshal([]byte(rd.Text("data")), &c); err != nil {
		return r, fmt.Errorf("record of erasure %s: %w", strconv.Quote(it.SK), err)
	}
	r.Planned, r.Erased, r.Holds, r.Traces, r.Passes, r.failures, r.rollupsDue = c.Planned, c.Erased, c.Holds, c.Traces, c.Passes, c.Failures, c.Rollups
	return r, rd.Err()
}

// put writes a record. If another process has changed the record since it was read, put fails with
// store.ErrCondition.
func (e *Eraser) put(ctx context.Context, r *Record) error {
	cond := store.IfAbsent()
	if r.version > 0 {
		cond = store.IfEquals("version", varve.IntValue(r.version))
	}
	next := *r
	next.version++
	it, err := next.item()
	if err == nil {
		err = e.opts.Items.Put(ctx, it, cond)
	}
	if err != nil {
		return fmt.Errorf("write record of erasure %s: %w", r.ID, err)
	}
	r.version = next.version
	return nil
}

// Get returns the record of an erasure. If it is missing, Get fails with NotFound.
func (e *Eraser) Get(ctx context.Context, id string) (Record, error) {
	items, err := e.opts.Items.Get(ctx, []store.Key{recordKey(id)}, true)
	if err != nil {
		return Record{}, fmt.Errorf("read erasure: %w", err)
	}
	if len(items) == 0 {
		return Record{}, varve.Errorf(varve.NotFound, "erasure %.40q: not found: GET /v1/erasures lists all erasures", id)
	}
	return parseRecord(&items[0])
}

// List returns all records, the latest first.
func (e *Eraser) List(ctx context.Context) ([]Record, error) {
	return e.list(ctx, store.ItemQuery{PK: recordsPK, Order: varve.Descending, Consistent: true})
}

// ErasedWindows returns the windows in which readings of a series were erased or are being erased. A
// window may still have readings that arrived after the erasure was planned.
func (e *Eraser) ErasedWindows(ctx context.Context, of varve.Series) (windows []varve.Window, err error) {
	list, err := e.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		r := &list[i]
		if r.Tenant != of.Tenant || r.Device != of.Device || r.Stream != "" && r.Stream != of.Stream {
			continue
		}
		w := r.Window
		if last := r.Arrived.Add(e.opts.Future).Add(time.Nanosecond); last.Before(w.To) {
			w.To = last // no erased reading has a later event time, because it had arrived by r.Arrived
		}
		windows = append(windows, w)
	}
	return windows, nil
}

// open returns the records of erasures that are not done. The index may lack the latest records.
func (e *Eraser) open(ctx context.Context) ([]Record, error) {
	return e.list(ctx, store.ItemQuery{Index: store.GSI1, PK: openPK})
}

func (e *Eraser) list(ctx context.Context, q store.ItemQuery) (list []Record, err error) {
	for it, err := range registry.All(ctx, e.opts.Items, q) {
		if err != nil {
			return nil, fmt.Errorf("list erasures: %w", err)
		}
		r, err := parseRecord(it)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
