package main

import (
	"errors"
	stdlog "log"
	"time"

	"github.com/rs/zerolog"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

func engineEvents(log zerolog.Logger) engine.Events {
	return engine.Events{
		Erasure: erasureChanged(log),
		Repaired: func(streams int, err error) {
			if err != nil {
				log.Warn().Err(err).Msg("streams not compared with tables, retrying")
				return
			}
			log.Warn().Int("streams", streams).Msg("streams recovered from tables")
		},
		Unclaimed: func(prefix string, tables int, readings int64) {
			log.Warn().Str("prefix", prefix).Int("tables", tables).Int64("readings", readings).
				Str("remedy", "restore tables.prefix or the class: until then, their readings are neither found nor dropped").Msg("tables without a class found")
		},
		Counted: func(marks int, took time.Duration, err error) {
			ev := log.Debug()
			if err != nil {
				ev = log.Error().Err(err)
			}
			ev.Int("marks", marks).Stringer("took", rounded(took)).Msg(rollupsCounted(err))
		},
		Router: router.Events{
			TableCreated: func(t grid.Table, took time.Duration) {
				log.Warn().Str("table", t.Name()).Stringer("took", rounded(took)).Msg("missing table created for a reading")
			},
			Failed: newFailures(log, time.Now).rejected,
		},
		Failed: newFailures(log, time.Now).failed,
		Scaled: func(c store.CapacityChange) {
			log.Info().Str("table", c.Table.Name()).Int64("read_from", c.ReadFrom).Int64("read_to", c.ReadTo).
				Int64("write_from", c.WriteFrom).Int64("write_to", c.WriteTo).Msg("table capacity changed")
		},
		Rotator: rotatorEvents(log),
	}
}

func rotatorEvents(log zerolog.Logger) rotator.Events {
	return rotator.Events{
		Applied: func(a rotator.Action, took time.Duration, err error) {
			ev := log.Debug()
			if a.Kind == rotator.Retire || a.Kind == rotator.Drop || a.Kind == rotator.Restore {
				ev = log.Info()
			}
			if err != nil {
				ev = log.Error().Err(err)
			}
			ev.Str("action", a.Kind.String()).Str("table", a.Table.Name()).Str("reason", a.Reason).
				Int64("readings", a.Readings).Int64("bytes", a.Bytes).Stringer("took", rounded(took)).Msg("rotation step applied")
		},
		Expired: func(t grid.Table, readings int64, took time.Duration, err error) {
			ev := log.Info()
			if err != nil {
				ev = log.Error().Err(err)
			}
			ev.Str("table", t.Name()).Int64("readings", readings).Stringer("took", rounded(took)).Msg("expired readings deleted")
		},
		Refused: func(t grid.Table, err error) {
			log.Error().Err(err).Str("table", t.Name()).Msg("drop refused, the archive is not whole")
		},
		Finished: func(p *rotator.Plan, took time.Duration, err error) {
			if errors.Is(err, lease.ErrHeld) {
				log.Debug().Err(err).Msg("rotation skipped, another run holds the lease")
				return
			}
			if errors.Is(err, rotator.ErrOtherPlan) {
				log.Info().Err(err).Msg("rotation refused, the plan has changed")
				return
			}
			if err != nil {
				log.Error().Err(err).Stringer("took", rounded(took)).Msg("rotation failed, retrying")
				return
			}
			n := p.Counts()
			log.Info().Int("created", n[rotator.Create]).Int("tuned", n[rotator.Tune]).Int("restored", n[rotator.Restore]).
				Int("retired", n[rotator.Retire]).Int("dropped", n[rotator.Drop]).Stringer("took", rounded(took)).Msg("rotation finished")
		},
	}
}

func localEvents(log zerolog.Logger, fatal func(msg string)) local.Events {
	return local.Events{
		Recovered: func(r local.Recovery) { recovered(log, r) },
		Restricted: func(files int) {
			log.Warn().Int("files", files).Msg("data folder closed to other users")
		},
		Flushed: func(readings, bytes int64, took time.Duration) {
			log.Debug().Int64("readings", readings).Int64("bytes", bytes).Stringer("took", rounded(took)).Msg("memtable flushed")
		},
		Failed:   newFailures(log, time.Now).failed,
		Lost:     func(lost []local.Loss) { logLosses(log, lost) },
		Damaged:  damageFound(log),
		SetAside: damageSetAside(log),
		Fatal:    fatal,
	}
}

// recovered logs the findings of the journal's recovery. A torn end of the journal is logged as a
// warning. Usually the torn end is a write that a crash interrupted before its acknowledgement, but
// the write may have been acknowledged.
func recovered(log zerolog.Logger, r local.Recovery) {
	for _, n := range r.Notes {
		log.Warn().Stringer("found", n).Msg("journal repaired")
	}
	bytes, frames := r.TornBytes()
	if bytes > 0 {
		texts := make([]string, len(r.Torn))
		for i, t := range r.Torn {
			texts[i] = t.String()
		}
		log.Warn().Int64("torn_bytes", bytes).Int("torn_frames", frames).Strs("torn", texts).Msg("torn end of the journal cut off")
	}
	log.Info().Int64("readings", r.Readings).Int("changes", r.Changes).Int64("torn_bytes", bytes).Stringer("took", rounded(r.Took)).Msg("journal replayed")
}

// rounded rounds a duration for people: at least three digits remain.
func rounded(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 100*unit {
			return d.Round(unit)
		}
	}
	return d
}

// quiet returns a logger for an HTTP server. It logs errors of connections at the level debug.
func quiet(log zerolog.Logger) *stdlog.Logger {
	return stdlog.New(logWriter{log}, "", 0)
}

type logWriter struct{ log zerolog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Debug().Str("from", "http").Msg(string(p))
	return len(p), nil
}

// destinationConfirmed logs the confirmation of an HTTP destination of AWS IoT Core. If Varve could not
// confirm it, the log has the URL that an operator can open to confirm it. If Varve refused, enableURL
// is "".
func destinationConfirmed(log zerolog.Logger, arn, enableURL string, err error) {
	switch {
	case err == nil:
		log.Info().Str("destination", arn).Msg("IoT destination confirmed")
	case enableURL == "":
		log.Warn().Err(err).Str("destination", arn).Msg("IoT destination refused")
	default:
		log.Warn().Err(err).Str("destination", arn).Str("open", enableURL).Msg("IoT destination not confirmed")
	}
}

// erasureChanged returns a callback that logs a change of an erasure. The log has no field of a reading.
func erasureChanged(log zerolog.Logger) func(erasures.Record) {
	return func(r erasures.Record) {
		readings := int64(0)
		for _, c := range r.Erased {
			readings += c.Readings
		}
		ev := log.Info()
		if r.Problem != "" {
			ev = log.Warn().Str("problem", r.Problem)
		}
		ev.Str("id", r.ID).Str("tenant", r.Tenant).Str("device", r.Device).Str("stream", r.Stream).Str("by", r.By).Str("state", string(r.State)).
			Int64("readings", readings).Int("tables_on_hold", len(r.Holds)).Msg("erasure changed")
	}
}
