package prometheus

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// TestSamples_KeepsOnePerMoment adds a day of readings, one every ten seconds, in parts of 100. A
// selector with a step of five minutes must have the last reading at or before each step.
func TestSamples_KeepsOnePerMoment(t *testing.T) {
	const step, every, n = 300_000, 10_000, 8640
	v := &queryStorage{lookedBack: 5 * time.Minute}
	last := int64(n * every)
	hints := &storage.SelectHints{Start: 1, End: last, Step: step}
	for name, add := range map[string]func(s *samples, b *block.Block, from, to int){
		"columns": func(s *samples, b *block.Block, from, to int) {
			s.addColumn(&block.Part{Block: b, From: from, To: to}, &b.Columns[0])
		},
		"readings": func(s *samples, b *block.Block, from, to int) {
			for i := from; i < to; i++ {
				s.add(millisecond(b.Times[i]), float64(b.Columns[0].Coefs[i]))
			}
		},
	} {
		b := &block.Block{Columns: []block.Column{{Name: "v", Kind: varve.KindNumber, Plain: true}}}
		for i := range n {
			b.Times = append(b.Times, (int64(i)*every+7)*int64(time.Millisecond))
			b.Columns[0].Coefs = append(b.Columns[0].Coefs, int64(i))
			b.Columns[0].Exps = append(b.Columns[0].Exps, 0)
		}
		s := samples{moments: v.momentsOf(hints)}
		for from := 0; from < n; from += 100 {
			add(&s, b, from, min(from+100, n))
		}
		if len(s.list) != n*every/step {
			t.Fatalf("%s: %d samples are kept, want %d", name, len(s.list), n*every/step)
		}
		for i, p := range s.list {
			row := (i+1)*step/every - 1 // the last reading before step i + 1
			if want := (promql.FPoint{T: int64(row)*every + 7, F: float64(row)}); p != want {
				t.Fatalf("%s: sample %d is %v, want %v", name, i, p, want)
			}
		}
	}
}

// TestMoments_KeepAll checks that all samples are kept for selectors in subqueries and range functions.
func TestMoments_KeepAll(t *testing.T) {
	for name, m := range map[string]moments{
		"subquery": (&queryStorage{hasSubquery: true}).momentsOf(&storage.SelectHints{Step: 1000}),
		"range":    (&queryStorage{}).momentsOf(&storage.SelectHints{Step: 1000, Range: 60_000}),
	} {
		s := samples{moments: m}
		for t := range int64(100) {
			s.add(t, 1)
		}
		if len(s.list) != 100 {
			t.Errorf("%s: %d samples, want 100", name, len(s.list))
		}
	}
}

// TestSamples_ReserveForNumbers adds columns in which one of 2000 readings has a number, or none. Each series
// must have memory for its own samples only.
func TestSamples_ReserveForNumbers(t *testing.T) {
	const n = 2000
	b := &block.Block{Times: make([]int64, n)}
	slots := make([]int32, n)
	for i := range slots {
		b.Times[i] = int64(i) * int64(time.Second)
		slots[i] = -1
	}
	slots[7] = 0
	for name, c := range map[string]struct {
		column block.Column
		want   int
	}{
		"sparse": {block.Column{Kind: varve.KindNumber, Slots: slots, Coefs: []int64{5}, Exps: []int64{0}}, 1},
		"text":   {block.Column{Kind: varve.KindString, Texts: make([]string, n)}, 0},
		"mixed":  {block.Column{Kinds: make([]byte, n), Slots: slots}, 0},
	} {
		s := samples{}
		s.addColumn(&block.Part{Block: b, From: 0, To: n}, &c.column)
		if len(s.list) != c.want || cap(s.list) != c.want {
			t.Errorf("%s: %d samples with memory for %d, want %d", name, len(s.list), cap(s.list), c.want)
		}
	}
}
