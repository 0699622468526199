package config

import (
	"time"

	"github.com/varvedb/varve/timefmt"
)

const maxRejectRetention = 10 * 365 * 24 * time.Hour

func (l *loader) validateRejects(c *Config) {
	if c.Rejects.Retention < 0 || c.Rejects.Retention > maxRejectRetention {
		l.mistake(l.originOf("rejects.retention"), "rejects.retention", "not from 0s to %s: use a shorter time", timefmt.FormatDuration(maxRejectRetention))
	}
	for _, name := range sortedKeys(c.Streams) {
		if policy := c.Streams[name].ClockPolicy; (policy == quarantine || policy == correct) && (c.Rejects.Limit == 0 || c.Rejects.Retention == 0) {
			key := "streams." + name + ".clock_policy"
			l.mistake(l.originOf(key), key, "%s requires rejects: set rejects.limit and rejects.retention to more than 0", policy)
		}
	}
}
