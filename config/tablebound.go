package config

import (
	"github.com/varvedb/varve/retention"
	"time"
)

// Bound is the maximum number of tables of a configuration.
type Bound struct {
	Forever []string // the classes whose tables are never dropped
	Classes int      // the number of the other classes
	Tables  int      // the maximum number of tables of the other classes at a time
}

// Bound returns the maximum number of tables. The parameter "outage" is the longest time between two
// runs of the rotator. Bound returns false if tables are never dropped.
func (c *Config) Bound(now time.Time, outage time.Duration) (Bound, bool) {
	p := c.Rotation().WithDefaults()
	var b Bound
	var bounded []retention.Class
	for _, class := range p.Retention.Classes {
		if class.Retention == retention.Forever {
			b.Forever = append(b.Forever, class.Name)
		} else {
			bounded = append(bounded, class)
		}
	}
	p.Retention.Classes = bounded // c stays unchanged: Rotation returns a new policy for each call
	b.Classes = len(bounded)
	tables, ok := p.Bound(now, outage)
	b.Tables = tables
	return b, ok
}
