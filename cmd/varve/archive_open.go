package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/objectstore/s3"
)

// archiveMetrics exports the counters of archiving and of reads from archives.
type archiveMetrics struct {
	engine                                                  *engine.Engine
	tables, readings, bytes, seconds, last, refused, merged *prometheus.Desc
	readRequests, readBytes                                 *prometheus.Desc
}

func newArchiveMetrics(e *engine.Engine) archiveMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return archiveMetrics{
		engine:       e,
		tables:       desc("varve_archive_tables_total", "Attempts of this process to archive a table, by outcome: archived or failed.", "outcome"),
		readings:     desc("varve_archive_readings_total", "Readings in tables that were archived."),
		bytes:        desc("varve_archive_bytes_total", "Bytes of the files of archives."),
		seconds:      desc("varve_archive_seconds_total", "Time spent on archiving tables."),
		last:         desc("varve_archive_last_success_timestamp_seconds", "When this process last archived a table; 0 before the first one."),
		refused:      desc("varve_archive_refused_total", "Drops of tables that were refused, because their archive was not intact."),
		merged:       desc("varve_archive_merged_tables_total", "Dropped tables whose archives this process merged."),
		readRequests: desc("varve_archive_read_requests_total", "Requests of queries to archives."),
		readBytes:    desc("varve_archive_read_bytes_total", "Bytes that queries read from archives."),
	}
}

// Describe implements prometheus.Collector.
func (m archiveMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.tables, m.readings, m.bytes, m.seconds, m.last, m.refused, m.merged, m.readRequests, m.readBytes} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m archiveMetrics) Collect(out chan<- prometheus.Metric) {
	s := m.engine.ArchiveStats()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	counter(m.tables, float64(s.Archived), "archived")
	counter(m.tables, float64(s.Failed), "failed")
	counter(m.readings, float64(s.Readings))
	counter(m.bytes, float64(s.Bytes))
	counter(m.seconds, s.Took.Seconds())
	counter(m.refused, float64(s.Refused))
	counter(m.merged, float64(s.Merged))
	read := m.engine.Archives.Stats()
	counter(m.readRequests, float64(read.Requests))
	counter(m.readBytes, float64(read.Bytes))
	last := 0.0
	if !s.Last.IsZero() {
		last = float64(s.Last.Unix())
	}
	out <- prometheus.MustNewConstMetric(m.last, prometheus.GaugeValue, last)
}

func openArchive(ctx context.Context, c *config.Config, log zerolog.Logger) (a engine.Archive, err error) {
	switch c.Archive.Kind {
	case "":
		return a, nil
	case "folder":
		if a.Objects, err = folder.Open(c.Archive.Dir, folder.Shared); err != nil {
			return a, fmt.Errorf("archive.dir: %w: choose a folder that varve can write to", err)
		}
	default:
		bucket, err := openBucket(ctx, &c.Archive, true)
		if err != nil {
			return a, fmt.Errorf("archive.bucket: %w", err)
		}
		if reason := bucket.Postponed(); reason != nil {
			log.Error().Err(reason).Str("bucket", c.Archive.Bucket).Msg("archive cannot be reached: it is checked before its first write")
		}
		a.Objects = bucket
	}
	a.Prefix, a.Rate, a.Retention, a.ExactCounts = c.Archive.Prefix, float64(c.Archive.Rate), c.Archive.Retention, kindOf(c).exactCounts()
	a.Merge = c.Archive.Merge
	a.Merged = func(done []archive.Merged, took time.Duration, err error) {
		for i := range done {
			log.Info().Str("archive", done[i].Name).Int("tables", len(done[i].Tables)).Str("directory", done[i].Dir).Stringer("took", rounded(took)).Msg("archives merged")
		}
		if err != nil {
			log.Error().Err(err).Stringer("took", rounded(took)).Msg("archives not merged")
		}
	}
	a.Archived = func(t grid.Table, r archive.Record, took time.Duration, err error) {
		if err != nil {
			log.Error().Err(err).Str("table", t.Name()).Stringer("took", rounded(took)).Msg("table not archived")
			return
		}
		log.Info().Str("table", t.Name()).Int64("readings", r.Readings).Int64("bytes", r.Bytes).Int64("files", r.Files).
			Str("manifest", r.ManifestKey()).Stringer("took", rounded(took)).Msg("table archived")
	}
	a.Expired = func(deleted []archive.Record, err error) {
		for i := range deleted {
			log.Info().Str("table", deleted[i].Table.Name()).Int64("readings", deleted[i].Readings).Msg("archive deleted after its retention")
		}
		if err != nil {
			log.Error().Err(err).Msg("expired archives not deleted")
		}
	}
	return a, nil
}

// openBucket opens the bucket of the archive, and checks its service. If postpone is true, a service that cannot be
// reached is checked before its first write.
func openBucket(ctx context.Context, c *config.Archive, postpone bool) (*s3.Bucket, error) {
	return s3.Open(ctx, s3.Options{Bucket: c.Bucket, Prefix: c.Prefix, Endpoint: c.Endpoint, Region: c.Region, Postpone: postpone})
}

// exactCounts reports whether the store counts the readings of a table exactly. DynamoDB updates its
// counts only every six hours.
func (k storeKind) exactCounts() bool { return !k.hasQuota }
