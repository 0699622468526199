package fields_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// counting is a store of items in memory that counts requests, and can fail.
type counting struct {
	*mem.Store
	gets, puts int
	err        error
}

func (c *counting) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if c.gets++; c.err != nil {
		return nil, c.err
	}
	return c.Store.Get(ctx, keys, consistent)
}

func (c *counting) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if c.puts++; c.err != nil {
		return c.err
	}
	return c.Store.Put(ctx, it, conds...)
}

func newItems() *counting { return &counting{Store: mem.New(time.Now)} }

// with returns a reading of a device with some fields.
func with(device string, names ...string) varve.Reading {
	r := varve.Reading{Series: varve.Series{Tenant: "t", Stream: "s", Device: device}, Time: time.Unix(1e9, 0)}
	for _, name := range names {
		r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.IntValue(1)})
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		panic(v.String())
	}
	return r
}

// upTo returns the names f<from>, f<from+1> and so on, before f<to>.
func upTo(from, to int) (names []string) {
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("f%d", i))
	}
	return names
}

// admit calls Admit for readings of one write, and returns the codes of the verdicts.
func admit(t *testing.T, r *fields.Registry, readings ...varve.Reading) string {
	t.Helper()
	verdicts := make([]varve.Verdict, len(readings))
	if err := r.Admit(t.Context(), readings, verdicts); err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, v := range verdicts {
		code := "ok"
		if v.Outcome == varve.Rejected {
			code = string(v.Code)
		}
		codes = append(codes, code)
	}
	return strings.Join(codes, " ")
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAdmit_BoundsFields sends readings with fields beyond the limit. They must be rejected.
// Fields within the limit, and other series, must be admitted.
func TestAdmit_BoundsFields(t *testing.T) {
	r := fields.New(newItems(), 100)
	expect(t, admit(t, r, with("a", upTo(0, 60)...), with("a", upTo(60, 100)...), with("b", "x")), "ok ok ok")
	expect(t, admit(t, r, with("a", "new"), with("a", "f7", "f99"), with("b", "new"), with("a", "f1", "new")), "too_many_fields ok ok too_many_fields")
	verdicts := make([]varve.Verdict, 1)
	if err := r.Admit(t.Context(), []varve.Reading{with("a", "new")}, verdicts); err != nil || !strings.Contains(verdicts[0].Message, `field "new" is new`) {
		t.Error(err, verdicts)
	}
	decided := []varve.Verdict{varve.Reject(varve.CodeMalformed, "x")}
	if err := r.Admit(t.Context(), []varve.Reading{{}}, decided); err != nil || decided[0].Code != varve.CodeMalformed {
		t.Error(err, decided)
	}
}

// TestAdmit_CostsNoRequestUsually counts requests. Series with few fields must cost none. A
// series with many fields must cost one read for each process, and one write for each addition.
// Rejected fields must cost none.
func TestAdmit_CostsNoRequestUsually(t *testing.T) {
	items := newItems()
	r := fields.New(items, 200)
	for i := range 1000 {
		expect(t, admit(t, r, with(fmt.Sprint(i%10), upTo(0, 50)...)), "ok")
	}
	if items.gets+items.puts > 0 {
		t.Errorf("%d gets, %d puts", items.gets, items.puts)
	}
	for range 10 {
		expect(t, admit(t, r, with("a", upTo(0, 100)...), with("a", upTo(100, 200)...), with("a", "new")), "ok ok too_many_fields")
	}
	if items.gets != 1 || items.puts != 1 {
		t.Errorf("%d gets, %d puts", items.gets, items.puts)
	}
}

// TestAdmit_SurvivesRestart checks that a new process knows the fields of a series with many
// fields, and that two processes share them.
func TestAdmit_SurvivesRestart(t *testing.T) {
	items := newItems()
	first, second := fields.New(items, 200), fields.New(items, 200)
	expect(t, admit(t, first, with("a", upTo(0, 150)...)), "ok")
	expect(t, admit(t, second, with("a", upTo(140, 190)...)), "ok") // only 50 names in this process, so it does not record 40 new ones
	expect(t, admit(t, second, with("a", upTo(190, 210)...)), "too_many_fields")
	expect(t, admit(t, second, with("a", upTo(190, 200)...)), "ok")
	expect(t, admit(t, first, with("a", upTo(150, 160)...), with("a", upTo(195, 200)...)), "ok ok")
	expect(t, admit(t, first, with("a", "new")), "too_many_fields")
	third := fields.New(items, 200)
	expect(t, admit(t, third, with("a", upTo(0, 150)...), with("a", upTo(150, 200)...), with("a", "new")), "ok ok too_many_fields")
	if raised := fields.New(items, 201); true {
		expect(t, admit(t, raised, with("a", upTo(0, 200)...), with("a", "new"), with("a", "newer")), "ok ok too_many_fields")
	}
}

// TestAdmit_RejectsIfRegistryFails makes the store of items fail. Readings must be rejected as
// unavailable, and admitted once the store works again.
func TestAdmit_RejectsIfRegistryFails(t *testing.T) {
	items := newItems()
	r := fields.New(items, 200)
	items.err = errors.New("the disk is full")
	expect(t, admit(t, r, with("a", upTo(0, 100)...), with("b", "x")), "unavailable ok")
	items.err = nil
	expect(t, admit(t, r, with("a", upTo(0, 100)...)), "ok")
	items.err = errors.New("the disk is full")
	expect(t, admit(t, r, with("a", upTo(100, 110)...), with("b", "y")), "unavailable ok")
	expect(t, admit(t, r, with("a", upTo(100, 110)...)), "unavailable")
	items.err = nil
	expect(t, admit(t, r, with("a", upTo(100, 110)...)), "ok")
	if got := admit(t, fields.New(items, 110), with("a", upTo(0, 110)...), with("a", "new")); got != "ok too_many_fields" {
		t.Error(got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(items.err)
	if err := r.Admit(ctx, []varve.Reading{with("a", "f1")}, make([]varve.Verdict, 1)); err == nil {
		t.Error("an ended context is no error")
	}
}

// TestCache_IsBounded writes many series, and checks the memory of the cache.
func TestCache_IsBounded(t *testing.T) {
	r := fields.New(newItems(), 0)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	names := upTo(0, 20)
	for i := range 100_000 {
		if got := admit(t, r, with(fmt.Sprintf("device-%d", i), names...)); got != "ok" {
			t.Fatal(got)
		}
	}
	// The limit of the cache is 64 parts × 2 maps × 256 KiB = 32 MiB. It applies to estimated sizes.
	if grown := heap() - before; grown > 45<<20 {
		t.Errorf("%d MiB", grown>>20)
	} else {
		t.Logf("%d MiB", grown>>20)
	}
	runtime.KeepAlive(r)
}

func BenchmarkAdmit(b *testing.B) {
	r := fields.New(newItems(), 0)
	readings := make([]varve.Reading, 1000)
	for i := range readings {
		readings[i] = with(fmt.Sprint(i%100), "temperature", "humidity", "battery", "pressure", "state")
	}
	verdicts := make([]varve.Verdict, len(readings))
	for b.Loop() {
		if err := r.Admit(b.Context(), readings, verdicts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(readings)), "ns/reading")
}
