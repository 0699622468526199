package prometheus

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/query"
)

// lagMetric is the name of a series that each device has beside its fields. Its values are the seconds
// from the event time of a reading to its arrival. Only selectors with this name select it.
const lagMetric = "varve_lag_seconds"

// collector collects the samples of the fields of one device in one stream.
type collector struct {
	target   *target
	matchers []*labels.Matcher
	moments  moments
	list     []*samples
	names    map[string]*samples // samples by field; nil for fields that the matchers exclude
	lag      *samples            // samples of lagMetric; nil unless it is selected
	taken    int                 // number of samples that takeNew has returned so far
	counted  int                 // number of series that takeNewSeries has returned so far
}

// field returns the samples of a field, or nil if the matchers exclude it.
func (c *collector) field(name string) *samples {
	s, known := c.names[name]
	if known {
		return s
	}
	if c.names == nil {
		c.names = map[string]*samples{}
	}
	if matchesField(name, c.matchers) {
		name = strings.Clone(name) // the name shares the memory of a page of readings
		s = &samples{metric: c.target.metric(name), moments: c.moments}
		c.list = append(c.list, s)
	}
	c.names[name] = s
	return s
}

func (c *collector) addPart(p *query.Part) {
	for i := range p.Columns {
		part := &p.Columns[i]
		c.addLags(part)
		for j := range part.Block.Columns {
			column := &part.Block.Columns[j]
			if s := c.field(column.Name); s != nil {
				s.addColumn(part, column)
			}
		}
	}
	for i := range p.Readings {
		r := &p.Readings[i]
		t := millisecond(r.Time.UnixNano())
		if c.lag != nil {
			c.lag.add(t, lagOf(r.Time.UnixNano(), r.Arrived.UnixMilli()))
		}
		for j := range r.Fields {
			if r.Fields[j].Value.Kind() != varve.KindNumber {
				continue
			}
			if s := c.field(r.Fields[j].Name); s != nil {
				s.add(t, r.Fields[j].Value.Number().Float64())
			}
		}
	}
}

func (c *collector) addLags(p *block.Part) {
	if c.lag == nil {
		return
	}
	for row := p.From; row < p.To; row++ {
		c.lag.add(millisecond(p.Times[row]), lagOf(p.Times[row], p.Arrived[row]))
	}
}

// lagOf returns the seconds from an event time in nanoseconds to an arrival in milliseconds.
func lagOf(at, arrived int64) float64 {
	return float64(arrived-millisecond(at)) / 1000
}

// takeNew returns the number of samples that were added since its last call.
func (c *collector) takeNew() int {
	kept := 0
	for _, s := range c.list {
		kept += len(s.list)
	}
	if c.lag != nil {
		kept += len(c.lag.list)
	}
	added := kept - c.taken
	c.taken = kept
	return added
}

// takeNewSeries returns the number of series that got their first sample since its last call.
func (c *collector) takeNewSeries() int {
	found := 0
	for _, s := range c.list {
		if len(s.list) > 0 {
			found++
		}
	}
	if c.lag != nil && len(c.lag.list) > 0 {
		found++
	}
	added := found - c.counted
	c.counted = found
	return added
}

// series returns the series that have samples.
func (c *collector) series() []*samples {
	if c.lag != nil {
		c.list = append(c.list, c.lag)
	}
	return slices.DeleteFunc(c.list, func(s *samples) bool { return len(s.list) == 0 })
}
