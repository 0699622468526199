package rollup

import (
	"fmt"
)

// seen is what the partials of an hour tell of the readings that arrived before a
// day, and were counted.
type seen struct {
	prints  map[uint32]bool
	minutes map[int][]summary // of partials with too many readings for fingerprints
	hours   []summary         // of partials without a sketch, which older versions wrote
}

// add adds a partial.
func (s *seen) add(p *Partial) error {
	switch {
	case p.Readings == 0:
	case p.prints != "":
		prints, err := parsePrints(p.prints)
		if err == nil && int64(len(prints)) != p.Readings {
			err = errSketch
		}
		if err != nil {
			return fmt.Errorf("%s: %w", attrPrints, err)
		}
		for _, f := range prints {
			s.prints[f] = true
		}
	case p.minutes != "":
		minutes, err := parseSummaries(p.minutes)
		if err != nil {
			return fmt.Errorf("%s: %w", attrMinutes, err)
		}
		for m, of := range minutes {
			s.minutes[m] = append(s.minutes[m], of)
		}
	default:
		s.hours = append(s.hours, summary{p.Readings, p.digest})
	}
	return nil
}
