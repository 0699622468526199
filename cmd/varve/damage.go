package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

func damageFound(log zerolog.Logger) func(file string, err error) {
	return func(file string, err error) {
		log.Error().Err(err).Str("file", file).Msg("damage found")
	}
}

func damageSetAside(log zerolog.Logger) func(file string, lost []local.Loss) {
	return func(file string, lost []local.Loss) {
		log.Warn().Str("file", file).Int("losses", len(lost)).Msg("damaged file set aside")
		logLosses(log, lost)
	}
}

// logLosses logs losses. Reads of lost data fail until varve repair accepts the loss.
func logLosses(log zerolog.Logger, lost []local.Loss) {
	for i := range lost {
		l := &lost[i]
		ev := log.Warn().Str("file", l.File).Time("found", l.Found).Str("reason", l.Reason)
		switch {
		case l.Segment != 0:
			ev.Uint64("segment", l.Segment).Int64("bytes", l.Bytes)
		case l.Items:
			ev.Str("first_item", keyText(l.FirstItem)).Str("last_item", keyText(l.LastItem))
		case l.Table != "" || l.Number != 0:
			ev.Str("table", l.Table).Str("first_series", seriesText(l.First)).Str("last_series", seriesText(l.Last))
			if !l.From.IsZero() {
				ev.Time("from", l.From).Time("to", l.To)
			}
		}
		ev.Msg(lossText(l))
	}
}

func lossText(l *local.Loss) string {
	switch {
	case l.Harmless:
		return "a file of the store was written again, and nothing is lost"
	case l.Rebuilt && l.Items && l.FirstItem.IsZero() && l.LastItem.IsZero():
		return "items of the registry may be older than they were: check API keys, rules and holds, then run varve repair"
	case l.Items:
		return "items of the registry are lost and refused: see varve verify and varve repair"
	case l.Catalog:
		return "entries of the catalog are lost and refused: see varve verify and varve repair"
	default:
		return "readings are lost and refused: see varve verify and varve repair"
	}
}

func seriesText(s varve.Series) string {
	if s == (varve.Series{}) {
		return ""
	}
	return s.String()
}

func keyText(k store.Key) string {
	if k.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s %s", k.PK, k.SK)
}

// registerDamage adds the numbers of losses and of damaged files to the metrics.
func registerDamage(reg *prometheus.Registry, st *local.Store) {
	reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "varve_damage_losses", Help: "Ranges of data that are lost to damage, and refused until varve repair accepts it.",
		}, func() float64 { return float64(len(st.Losses())) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "varve_damage_files_total", Help: "Files that were found damaged since the process started.",
		}, func() float64 { return float64(st.DamagedFiles()) }),
	)
}

// lossLine describes a loss in one line: its table, series and event times, if they are known.
func lossLine(l *local.Loss) string {
	switch {
	case l.Journal:
		return journalLine(l)
	case l.Rebuilt && l.Items && l.FirstItem.IsZero() && l.LastItem.IsZero():
		return "items of the registry may be older than they were: check API keys, rules and holds"
	case l.Items:
		return "items of the registry" + between(keyText(l.FirstItem), keyText(l.LastItem))
	case l.Catalog:
		return "entries of the catalog"
	case l.Harmless:
		return "nothing"
	}
	text := "readings of table " + cmp.Or(l.Table, fmt.Sprint(l.Number)) + between(seriesText(l.First), seriesText(l.Last))
	if !l.From.IsZero() {
		text += fmt.Sprintf(", events from %s to %s", l.From.Format(time.RFC3339), l.To.Format(time.RFC3339))
	}
	return text
}

func journalLine(l *local.Loss) string {
	const unknown = "; the series and items are unknown"
	switch {
	case l.Segment == 0:
		return "readings and items of the last minutes before the damage" + unknown
	case l.Bytes == 0:
		return fmt.Sprintf("journal segment %d%s", l.Segment, unknown)
	default:
		return fmt.Sprintf("%d bytes of journal segment %d%s", l.Bytes, l.Segment, unknown)
	}
}

// between describes a range. If an argument is empty, the range has no bound on that side.
func between(first, last string) string {
	switch {
	case first != "" && last != "":
		return fmt.Sprintf(", %s to %s", first, last)
	case first != "":
		return ", from " + first + " on"
	case last != "":
		return ", up to " + last
	}
	return ""
}
