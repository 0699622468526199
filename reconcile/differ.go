package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

// Span is a sender's list of digests of consecutive periods. Each element is the text of a Digest, or at
// least its first 8 characters. The element "" stands for a period without readings.
type Span struct {
	From    time.Time
	Digests []string
}

// Window returns the event times of a span.
func (s *Span) Window(p rollup.Period) varve.Window {
	return varve.Window{From: s.From, To: s.From.Add(time.Duration(int64(len(s.Digests))*secondsOf(p)) * time.Second)}
}

// Difference is the result of a comparison.
type Difference struct {
	Compared int         // number of compared periods
	Differ   []time.Time // starts of the periods in which the sender and the store differ
	// Expired has the starts of further periods that differ. Some of their readings may have expired, or were
	// erased on purpose. So a sender must not resend them.
	Expired      []time.Time
	Total        Count     // number and digest of the stored readings in all spans
	CompleteFrom time.Time // from this event time on, no reading of the spans has expired
}

// check rejects spans that cannot be compared.
func check(spans []Span, p rollup.Period) error {
	n := 0
	for i := range spans {
		s := &spans[i]
		if n += len(s.Digests); n > MaxPeriods {
			return varve.InvalidParam("spans", "more than %d periods: send several requests, or period=daily", MaxPeriods)
		}
		if s.From.Unix() < 0 || s.From.Unix()%secondsOf(p) != 0 || s.From.Nanosecond() != 0 {
			return varve.InvalidParam("spans.from", "%s is not the start of a period in UTC: use a full hour, or midnight for daily", s.From.Format(time.RFC3339Nano))
		}
		for _, text := range s.Digests {
			if text != "" && (len(text) < MinPrefix || len(text) > TextLen) {
				return varve.InvalidParam("spans.digests", "%q has %d characters: use the first 8 to 22 of the digest", text, len(text))
			}
		}
	}
	return checkSeparate(spans, p)
}

// checkSeparate rejects spans that overlap, because Difference.Total would count their readings twice.
func checkSeparate(spans []Span, p rollup.Period) error {
	windows := make([]varve.Window, len(spans))
	for i := range spans {
		windows[i] = spans[i].Window(p)
	}
	slices.SortFunc(windows, func(a, b varve.Window) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	for i := range windows[min(1, len(windows)):] {
		if earlier, later := windows[i], windows[i+1]; later.From.Before(earlier.To) {
			return varve.InvalidParam("spans", "two spans have the period that begins at %s: send each period once", later.From.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// Differ compares the periods of a sender with the stored readings of a series.
func (r *Reader) Differ(ctx context.Context, of varve.Series, p rollup.Period, spans []Span) (*Difference, error) {
	if err := check(spans, p); err != nil {
		return nil, err
	}
	d := &Difference{CompleteFrom: varve.AllTime().From}
	for i := range spans {
		s := &spans[i]
		a, err := r.Read(ctx, Query{Series: of, Window: s.Window(p), Period: p})
		if err != nil {
			return nil, err
		}
		if a.CompleteFrom.After(s.From) {
			d.CompleteFrom = a.CompleteFrom
		}
		d.Total.Readings += a.Total.Readings
		d.Total.Digest.Add(a.Total.Digest)
		d.compare(s, p, a)
	}
	return d, r.separateErased(ctx, of, p, d)
}

// separateErased moves the periods with erased readings from Differ to Expired.
func (r *Reader) separateErased(ctx context.Context, of varve.Series, p rollup.Period, d *Difference) error {
	if r.Erased == nil || len(d.Differ) == 0 {
		return nil
	}
	erased, err := r.Erased(ctx, of)
	if err != nil {
		return err
	}
	var differ []time.Time
	for _, start := range d.Differ {
		end := start.Add(time.Duration(secondsOf(p)) * time.Second)
		if slices.ContainsFunc(erased, func(w varve.Window) bool { return w.From.Before(end) && start.Before(w.To) }) {
			d.Expired = append(d.Expired, start)
		} else {
			differ = append(differ, start)
		}
	}
	d.Differ = differ
	slices.SortFunc(d.Expired, time.Time.Compare)
	return nil
}

// compare adds the comparison of one span.
func (d *Difference) compare(s *Span, p rollup.Period, a *Answer) {
	stored := a.Periods
	for i, text := range s.Digests {
		d.Compared++
		start := s.From.Add(time.Duration(int64(i)*secondsOf(p)) * time.Second).UTC()
		var digest Digest
		if len(stored) > 0 && stored[0].Start.Equal(start) {
			digest, stored = stored[0].Digest, stored[1:]
		}
		switch {
		case digest.HasPrefix(text):
		case start.Before(a.CompleteFrom):
			d.Expired = append(d.Expired, start)
		default:
			d.Differ = append(d.Differ, start)
		}
	}
}
