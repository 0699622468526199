package prometheus

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

const (
	surveyed          = 64              // maximum number of readings that a survey reads
	surveyAge         = time.Minute     // maximum age of a survey
	missingAge        = 5 * time.Second // maximum age of a survey that found no reading
	maxSurveys        = 1 << 16         // maximum number of surveys in memory
	minLookback       = 5 * time.Minute // shortest look-back, for devices that report often
	maxLookback       = 7 * 24 * time.Hour
	lookbackIntervals = 3 // look-back as a multiple of the observed interval
)

// survey has facts from the last readings of a device in a stream.
type survey struct {
	fields   []string // names of the fields that have numbers, sorted
	last     time.Time
	interval time.Duration // median of the time between readings; 0 means unknown
	made     time.Time
}

type seriesKey = varve.Series

type surveys struct {
	mu    sync.Mutex
	known map[seriesKey]survey
}

func (s *surveys) get(of varve.Series, now time.Time) (survey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.known[of]
	limit := surveyAge
	if found.last.IsZero() {
		limit = missingAge
	}
	age := now.Sub(found.made)
	return found, ok && age >= 0 && age < limit
}

func (s *surveys) set(of varve.Series, made survey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxSurveys {
		clear(s.known)
	}
	s.known[of] = made
}

// survey returns the survey of the last live readings of a series. It may be a minute old.
func (e *Engine) survey(ctx context.Context, of varve.Series) (survey, error) {
	now := e.opts.Now()
	if s, ok := e.surveys.get(of, now); ok {
		return s, nil
	}
	s, err := e.surveyWindow(ctx, of, varve.AllTime())
	if s.made = now; err == nil {
		e.surveys.set(of, s)
	}
	return s, err
}

// surveyIn returns a survey of the live readings in a window. If the window has the last reading of the
// series, this is the survey of the whole series.
func (e *Engine) surveyIn(ctx context.Context, of varve.Series, w varve.Window) (survey, error) {
	s, err := e.survey(ctx, of)
	switch {
	case err != nil || s.last.IsZero() || w.Contains(s.last):
		return s, err
	case s.last.Before(w.From):
		return survey{}, nil
	}
	return e.surveyWindow(ctx, of, w)
}

// surveyWindow computes a survey from the last readings in a window.
func (e *Engine) surveyWindow(ctx context.Context, of varve.Series, w varve.Window) (s survey, err error) {
	rows, err := e.opts.Readings.Open(ctx, query.Query{Series: of, Window: w, Order: varve.Descending, Limit: surveyed})
	if err != nil {
		return s, err
	}
	defer rows.Close()
	var times []int64 // event times in descending order
	for more := true; more; {
		err := e.opts.InTurn(ctx, func() error {
			part, err := rows.NextPart(ctx)
			more = !part.IsEnd()
			for i := range part.Columns {
				p := &part.Columns[i]
				for k := range p.Len() {
					times = append(times, p.Times[p.Row(k)])
				}
				for j := range p.Block.Columns {
					if c := &p.Block.Columns[j]; c.Numbers(p.From, p.To).Count > 0 {
						s.addField(c.Name)
					}
				}
			}
			for i := range part.Readings {
				times = append(times, part.Readings[i].Time.UnixNano())
				for _, f := range part.Readings[i].Fields {
					if f.Value.Kind() == varve.KindNumber {
						s.addField(f.Name)
					}
				}
			}
			return err
		})
		if err != nil {
			return survey{}, err
		}
	}
	if len(times) > 0 {
		s.last, s.interval = time.Unix(0, times[0]).UTC(), medianInterval(times)
	}
	return s, nil
}

func (s *survey) addField(name string) {
	if i, found := slices.BinarySearch(s.fields, name); !found {
		s.fields = slices.Insert(s.fields, i, string([]byte(name)))
	}
}

// medianInterval returns the median of the differences of neighboring times, which must be in descending
// order. Equal times count once.
func medianInterval(times []int64) time.Duration {
	var gaps []int64
	for i := 1; i < len(times); i++ {
		if gap := times[i-1] - times[i]; gap > 0 {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return time.Duration(gaps[len(gaps)/2])
}

// lookback returns the look-back of a series: the configured one, or else a multiple of the
// observed interval, from minLookback to maxLookback. If the series has no readings, it returns 0.
func (e *Engine) lookback(ctx context.Context, of varve.Series) (time.Duration, error) {
	s, err := e.survey(ctx, of)
	if err != nil || s.last.IsZero() {
		return 0, err
	}
	if d := e.configuredLookback(of.Stream); d > 0 {
		return d, nil
	}
	return min(max(lookbackIntervals*s.interval, minLookback), maxLookback), nil
}

// configuredLookback returns the configured look-back of a stream, or 0 if none is configured.
func (e *Engine) configuredLookback(stream string) time.Duration {
	if d := e.opts.StreamLookback[stream]; d > 0 {
		return d
	}
	return e.opts.Lookback
}
