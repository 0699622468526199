package alerts

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

// sliceSamples implements samples with a slice that is sorted by position.
type sliceSamples []sample

func (s sliceSamples) before(p varve.Position, yield func(*sample) bool) error {
	for _, one := range slices.Backward(s) {
		if one.at.Compare(p) < 0 && !yield(&one) {
			break
		}
	}
	return nil
}

func (s sliceSamples) from(p varve.Position, yield func(*sample) bool) error {
	for _, one := range s {
		if one.at.Compare(p) >= 0 && !yield(&one) {
			break
		}
	}
	return nil
}

// second returns the position of a sample, n seconds after the start of 1970.
func second(n int) varve.Position {
	return varve.Position{Time: int64(n) * int64(time.Second), ID: firstID}
}

// samplesFrom returns the samples of a text with one character per second. The condition holds at ● and
// fails at ○. A second with · has no sample.
func samplesFrom(text string) (all sliceSamples) {
	for i, r := range []rune(text) {
		if r != '·' {
			all = append(all, sample{at: second(i), holds: r == '●'})
		}
	}
	return all
}

// episodesText formats episodes as start/opened/end in seconds. An open episode has no end,
// and "gap" follows the end of an episode that a gap ended.
func episodesText(all []episode) string {
	var texts []string
	for i := range all {
		e := &all[i]
		text := fmt.Sprintf("%d/%d/", e.start.Time/int64(time.Second), e.opened.Time/int64(time.Second))
		if e.end != nil {
			text += fmt.Sprint(e.resolvedAt().Unix())
		}
		if e.byGap {
			text += "gap"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// recordedAs returns episodes as they are read from their records.
func recordedAs(wanted []episode) timeline {
	recorded := slices.Clone(wanted)
	for i := range recorded {
		recorded[i].version, recorded[i].published, recorded[i].read = varve.IntValue(1), true, false
	}
	return timelineOf(recorded...)
}

func TestEvaluate_FindsEpisodesAroundSpan(t *testing.T) {
	for _, c := range []struct {
		reason   string
		samples  string
		recorded string // the samples when the records were written
		lo, hi   int
		want     string
	}{
		{"a new episode", "○●●○", "○··○", 1, 2, "1/1/3"},
		{"an open episode", "○●●", "○··", 1, 2, "1/1/"},
		{"no episode", "○○○", "○·○", 1, 1, ""},
		{"an earlier start", "·●●○", "··●○", 1, 1, "1/1/3"},
		{"a cut", "●●○●○", "●●·●○", 2, 2, "0/0/2 3/3/4"},
		{"a join", "●●●●○", "●●○●○", 2, 2, "0/0/4"},
		{"the first reading is missing", "·●●", "●●●", 0, 0, "0/0/"},
		{"the first reading is missing, and a cut", "·●○", "●●·", 0, 2, "0/0/2"},
		{"the first reading is missing, and an end", "·○○", "●··", 0, 1, "0/0/1"},
		{"the first reading is missing, and a sample follows it", "·○●", "●·●", 0, 1, "0/0/1 2/2/"},
		{"an end by a gap", "●●····●", "●●·····", 6, 6, "0/0/4gap 6/6/"},
	} {
		rule := &Rule{Gap: 3 * time.Second}
		var known history
		if first, err := evaluate(rule, samplesFrom(c.recorded), span{lo: second(0), hi: second(9), mayHold: true}, history{}); err == nil {
			known.recorded = recordedAs(first.wanted)
		} else {
			t.Fatal(err)
		}
		got, err := evaluate(rule, samplesFrom(c.samples), span{lo: second(c.lo), hi: second(c.hi), mayHold: true}, known)
		if err != nil || episodesText(got.wanted) != c.want {
			t.Errorf("%s, %s: got %q, want %q: %v", c.reason, c.samples, episodesText(got.wanted), c.want, err)
		}
	}
}

// TestEvaluate_RemovesEpisodeThatEndsBeforeItsOpening writes a correction without the field at the start of an open
// episode, and a failing reading before its opening. The recorded episode must be removed, because no later reading
// may end it.
func TestEvaluate_RemovesEpisodeThatEndsBeforeItsOpening(t *testing.T) {
	for samples, want := range map[string]string{"○·○": "", "○·○●": "", "○·○●·●": "3/5/"} {
		rule := &Rule{For: 2 * time.Second, Gap: NoGap}
		opened := second(3)
		known := history{recorded: recordedAs([]episode{{start: second(1), opened: opened}})}
		found, err := evaluate(rule, samplesFrom(samples), span{lo: second(0), hi: second(2)}, known)
		p := planOf(&found, &known, nil)
		if err != nil || episodesText(p.write) != want || episodesText(p.remove) != "1/3/" {
			t.Errorf("%s: %q is written and %q removed, want %q and 1/3/: %v", samples, episodesText(p.write), episodesText(p.remove), want, err)
		}
	}
}

// TestEvaluate_StepsEqualWholeEvaluation adds samples in any order. After each one, it applies the plan to
// the records in memory. In the end, the records must equal the episodes that one evaluation of all samples
// finds.
func TestEvaluate_StepsEqualWholeEvaluation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := &Rule{For: time.Duration(rapid.IntRange(0, 4).Draw(t, "for")) * time.Second, Gap: NoGap}
		if gap := rapid.IntRange(0, 5).Draw(t, "gap"); gap > 0 {
			rule.Gap = time.Duration(gap) * time.Second
		}
		var stored sliceSamples
		var recorded []episode
		for _, at := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}).Draw(t, "order")[:12] {
			one := sample{at: second(at), holds: rapid.IntRange(0, 3).Draw(t, "holds") > 0}
			stored = append(stored, one)
			slices.SortFunc(stored, func(a, b sample) int { return a.at.Compare(b.at) })
			known := history{recorded: timelineOf(recorded...)}
			around := span{lo: one.at, hi: one.at, mayHold: one.holds}
			found, err := evaluate(rule, stored, around, known)
			again, err2 := evaluate(rule, stored, around, known)
			if err != nil || err2 != nil || episodesText(found.wanted) != episodesText(again.wanted) {
				t.Fatalf("evaluated twice: %q and %q: %v, %v", episodesText(found.wanted), episodesText(again.wanted), err, err2)
			}
			p := planOf(&found, &known, nil)
			recorded = slices.DeleteFunc(recorded, func(e episode) bool {
				replaced := func(x episode) bool { return x.start == e.start }
				return slices.ContainsFunc(p.write, replaced) || slices.ContainsFunc(p.remove, replaced)
			})
			recorded = recordedAs(append(recorded, p.write...)).episodes
			if p = planOf(&found, &history{recorded: timelineOf(recorded...), stored: known.stored}, nil); !p.isEmpty() {
				t.Fatalf("an applied plan leaves %q to write, %q to remove", episodesText(p.write), episodesText(p.remove))
			}
		}
		whole, err := evaluate(rule, stored, span{lo: second(0), hi: second(99), mayHold: true}, history{})
		if err != nil || episodesText(recorded) != episodesText(whole.wanted) {
			t.Fatalf("for %s, gap %s: recorded %q, want %q: %v", rule.For, rule.Gap, episodesText(recorded), episodesText(whole.wanted), err)
		}
	})
}

// heldSamples are samples of n seconds for which the condition holds. They are not stored in memory.
type heldSamples struct {
	n       int
	read    int    // number of samples that were read
	scratch sample // reused
}

func (s *heldSamples) yieldAt(i int, yield func(*sample) bool) bool {
	s.read++
	s.scratch = sample{at: second(i), holds: true}
	return yield(&s.scratch)
}

func (s *heldSamples) before(p varve.Position, yield func(*sample) bool) error {
	for i := int(p.Time/int64(time.Second)) - 1; i >= 0 && s.yieldAt(i, yield); i-- {
	}
	return nil
}

func (s *heldSamples) from(p varve.Position, yield func(*sample) bool) error {
	for i := int(p.Time / int64(time.Second)); i < s.n && s.yieldAt(i, yield); i++ {
	}
	return nil
}

// TestEvaluate_FindsLongEpisodeInConstantMemory evaluates a new rule whose condition has long held.
// The evaluation must read the episode once and its beginning once more, and must not need more memory for a
// longer episode.
func TestEvaluate_FindsLongEpisodeInConstantMemory(t *testing.T) {
	const wait = 60
	usage := func(n int) uint64 {
		all := &heldSamples{n: n}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := evaluate(&Rule{For: wait * time.Second}, all, span{lo: second(n - 1), hi: second(n - 1), mayHold: true}, history{})
		runtime.ReadMemStats(&after)
		if err != nil || episodesText(got.wanted) != fmt.Sprintf("0/%d/", wait) {
			t.Errorf("%d samples: got %q, want one open episode: %v", n, episodesText(got.wanted), err)
		}
		if most := n + wait + 1; all.read > most {
			t.Errorf("%d samples: %d were read, at most %d", n, all.read, most)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := usage(1000), usage(100_000)
	if many > few+100_000 {
		t.Errorf("%d bytes for 1000 samples, and %d for 100000: want no growth", few, many)
	}
}

func TestDeadmanEvaluate_ClosesAndOpensEpisodes(t *testing.T) {
	rule := &Rule{Kind: Deadman, For: 10 * time.Second}
	end := second(20)
	for _, c := range []struct {
		reason         string
		recorded       []episode
		seen, late, at int // lastSeen.at, lastSeen.late and the current time, in seconds
		want           string
		open           bool
	}{
		{"not silent yet", nil, 20, 0, 29, "", false},
		{"silent", nil, 20, 0, 30, "20/30/", false},
		{"the last-seen time may be too early", nil, 20, 1, 30, "", false},
		{"open already", []episode{{start: second(20), opened: second(30)}}, 20, 0, 60, "", true},
		{"seen since", []episode{{start: second(20), opened: second(30)}}, 40, 0, 41, "20/30/40", false},
		{"seen since, and silent", []episode{{start: second(20), opened: second(30)}}, 40, 0, 60, "20/30/40 40/50/", false},
		{"ended already", []episode{{start: second(0), opened: second(10), end: &end}}, 20, 0, 21, "", false},
		{"another process has newer data", []episode{{start: second(40), opened: second(50)}}, 20, 0, 60, "", true},
	} {
		seen := lastSeen{at: time.Unix(int64(c.seen), 0), late: time.Duration(c.late) * time.Second}
		got, open := rule.byClock().evaluate(rule, seen, time.Unix(int64(c.at), 0), c.recorded)
		if episodesText(got) != c.want || open != c.open {
			t.Errorf("%s: got %q, open %t; want %q, open %t", c.reason, episodesText(got), open, c.want, c.open)
		}
	}
}

func TestKinds_AreEvaluatedByReadingsOrByClock(t *testing.T) {
	for name := range kinds {
		r := Rule{Kind: name}
		if (r.byReadings() == nil) == (r.byClock() == nil) {
			t.Errorf("kind %s: by readings %t, by clock %t: want one", name, r.byReadings() != nil, r.byClock() != nil)
		}
	}
}
