package reconcile_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/reconcile"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/store/storetest"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestReader_AgreesWithBruteForce writes random readings, in one arrival month or once more in the
// next one. The digests of the store must equal a sum with math/big. A comparison with a sender's set
// must find exactly the periods with lost readings.
func TestReader_AgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		compareBrute(t, "varve", func(now func() time.Time) (store.Store, error) {
			s := mem.New(now)
			if rapid.Bool().Draw(t, "columns") {
				return columnStore{s}, nil
			}
			return s, nil
		})
	})
}

func TestReader_AgreesWithBruteForceEmbedded(t *testing.T) {
	randomtest.LimitChecks(t, 10)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "varve-digests")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // a folder that remains changes no result
		compareBrute(t, "varve", func(now func() time.Time) (store.Store, error) {
			return local.Open(local.Options{Dir: dir, MinFree: -1, Now: now})
		})
	})
}

func TestReader_AgreesWithBruteForceOnDynamoDB(t *testing.T) {
	for _, e := range []dynamotest.Emulator{dynamotest.Dynoxide, dynamotest.StandIn} {
		t.Run(e.Name, func(t *testing.T) {
			randomtest.LimitChecks(t, 5)
			url := e.Start(t)
			round := 0
			rapid.Check(t, func(t *rapid.T) {
				round++ // each round has its own tables
				prefix := fmt.Sprintf("r%d", round)
				compareBrute(t, prefix, func(now func() time.Time) (store.Store, error) {
					return dynamo.Open(context.Background(), dynamo.Options{Client: dynamotest.Client(url), Registry: prefix + "_registry", Now: now})
				})
			})
		})
	}
}

// compareBrute writes random readings to a store, and compares their digests with a sum with math/big.
// All names of tables have the prefix.
func compareBrute(t *rapid.T, prefix string, open func(now func() time.Time) (store.Store, error)) {
	var months atomic.Int64
	now := func() time.Time { return noon.AddDate(0, int(months.Load()), 0) }
	s, err := open(now)
	if err != nil {
		t.Fatalf("%v", err)
	}
	rotation := engine.DefaultRotation()
	rotation.Retention = &retention.Policy{Prefix: prefix, Classes: []retention.Class{{Name: retention.DefaultClass, Retention: engine.DefaultRetention}}}
	e, err := engine.Open(context.Background(), engine.Options{Store: s, Rotation: rotation, Now: now, Holder: "test", NoRollups: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Fatalf("%v", err)
		}
	}()
	sent, lost := drawReadings(t)
	write(t, e, sent)
	if rapid.Bool().Draw(t, "resend") {
		months.Add(1)
		write(t, e, sent)
	}
	var set reconcile.Set
	stored := map[varve.Position]bool{}
	for i := range sent {
		set.Add(&sent[i])
		stored[sent[i].Position()] = true
	}
	missing := map[varve.Position]bool{}
	for i := range lost {
		set.Add(&lost[i])
		missing[lost[i].Position()] = !stored[lost[i].Position()]
	}
	maps.DeleteFunc(missing, func(_ varve.Position, isMissing bool) bool { return !isMissing })
	reader := reconcile.Reader{Readings: e.Query}
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		a, err := reader.Read(context.Background(), reconcile.Query{Series: series("a"), Window: varve.AllTime(), Period: p})
		if err != nil {
			t.Fatalf("%v", err)
		}
		checkPeriods(t, a, p, stored)
		checkDifference(t, &reader, p, set.Spans(p, nil), missing)
	}
}

// drawReadings returns random readings of four days, and further ones that a sender loses.
func drawReadings(t *rapid.T) (sent, lost []varve.Reading) {
	for range rapid.IntRange(0, 60).Draw(t, "readings") {
		r := varve.Reading{
			Series: series("a"), Time: noon.Add(-time.Duration(rapid.IntRange(0, 4*24*3600).Draw(t, "ago")) * time.Second),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(rapid.Int64Range(0, 9).Draw(t, "v"))}},
		}
		if rapid.Bool().Draw(t, "own id") {
			r.ID = id(t, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"))
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatalf("%s", v)
		}
		if rapid.IntRange(0, 9).Draw(t, "fate") == 0 {
			lost = append(lost, r)
		} else {
			sent = append(sent, r)
		}
	}
	return sent, lost
}

// write writes readings to an engine. Only readings whose identity is stored with other values may be
// rejected.
func write(t *rapid.T, e *engine.Engine, readings []varve.Reading) {
	q, err := e.Router.Admit()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer q.Done()
	list := make([]varve.Reading, len(readings))
	for i := range readings {
		list[i] = readings[i].Clone()
	}
	verdicts := make([]varve.Verdict, len(list))
	if err := q.Write(context.Background(), list, verdicts); err != nil {
		t.Fatalf("%v", err)
	}
	for i, v := range verdicts {
		if v.Outcome == varve.Rejected && v.Code != varve.CodeConflict {
			t.Fatalf("%s: %s", &readings[i], v)
		}
	}
}

// bruteDigest computes a digest with math/big, as docs/reconciliation.md describes it.
func bruteDigest(list []varve.Position) string {
	sum := new(big.Int)
	for _, p := range list {
		hash := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, uint64(p.Time)), p.ID.String()...))
		sum.Add(sum, new(big.Int).SetBytes(hash[:16]))
	}
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 128))
	return base64.RawURLEncoding.EncodeToString(sum.FillBytes(make([]byte, 16)))
}

type columnStore struct{ *mem.Store }

func (s columnStore) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (store.BlockPage, error) {
	return storetest.ReadBlocks(ctx, s, r, dst)
}

func startOf(p rollup.Period, nanos int64) time.Time {
	if p == rollup.Daily {
		return time.Unix(0, nanos).UTC().Truncate(24 * time.Hour)
	}
	return time.Unix(0, nanos).UTC().Truncate(time.Hour)
}

func checkPeriods(t *rapid.T, a *reconcile.Answer, p rollup.Period, stored map[varve.Position]bool) {
	all := map[time.Time][]varve.Position{}
	var whole []varve.Position
	for at := range stored {
		all[startOf(p, at.Time)] = append(all[startOf(p, at.Time)], at)
		whole = append(whole, at)
	}
	for _, c := range a.Periods {
		if want := all[c.Start]; c.Readings != int64(len(want)) || c.Digest.String() != bruteDigest(want) {
			t.Fatalf("%s of %s: %d %s, want %d %s", p, c.Start, c.Readings, c.Digest, len(want), bruteDigest(want))
		}
	}
	if len(a.Periods) != len(all) || a.Total.Readings != int64(len(whole)) || a.Total.Digest.String() != bruteDigest(whole) {
		t.Fatalf("%d periods with %d readings, want %d with %d", len(a.Periods), a.Total.Readings, len(all), len(whole))
	}
}

func checkDifference(t *rapid.T, reader *reconcile.Reader, p rollup.Period, spans []reconcile.Span, lost map[varve.Position]bool) {
	d, err := reader.Differ(context.Background(), series("a"), p, spans)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var want []time.Time
	for at := range lost {
		if start := startOf(p, at.Time); !slices.Contains(want, start) {
			want = append(want, start)
		}
	}
	slices.SortFunc(want, time.Time.Compare)
	if !slices.EqualFunc(d.Differ, want, time.Time.Equal) || len(d.Expired) > 0 {
		t.Fatalf("%s: %v differ, want %v; expired %v", p, d.Differ, want, d.Expired)
	}
}
