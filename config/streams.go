package config

import (
	"fmt"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
	"strconv"
	"time"
)

// streamSettings returns the settings of one stream, by the last part of their keys.
func streamSettings(name string) map[string]setting {
	at := func(what, doc string, get func(Stream) string, set func(*Stream, string) error) setting {
		return setting{
			Key: "streams." + name + "." + what, Doc: doc,
			Get: func(c *Config) string { return get(c.Streams[name]) },
			Set: func(c *Config, text string) error {
				st := c.Streams[name]
				if err := set(&st, text); err != nil {
					return err
				}
				c.Streams[name] = st
				return nil
			},
		}
	}
	return map[string]setting{
		"class": at("class", "the stream's class",
			func(s Stream) string { return s.Class },
			func(s *Stream, text string) error { s.Class = text; return nil }),
		"retention": at("retention", "how long readings of the stream live, if shorter than its class keeps them",
			func(s Stream) string { return timefmt.FormatDuration(s.Retention) }, setStreamRetention),
		"row_window": at("row_window", "dynamodb: how much time a row holds; 1ms, or up to 1h for devices that upload in bulk",
			func(s Stream) string { return timefmt.FormatDuration(s.RowWindow) }, setRowWindow),
		"lookback": at("lookback", "PromQL: how long the last value of a series of the stream counts; overrides prometheus.lookback",
			func(s Stream) string { return timefmt.FormatDuration(s.Lookback) }, setLookback),
		"clock_policy": at("clock_policy", "readings whose time is too early, too late or in another unit: refuse; quarantine: store them as rejects before the answer; or correct: also correct live readings by the learned error of the clock",
			func(s Stream) string { return s.ClockPolicy },
			func(s *Stream, text string) error {
				if err := oneOf("refuse", quarantine, correct)(text); err != nil {
					return err
				}
				s.ClockPolicy = text
				return nil
			}),
		"archive": at("archive", "queries of readings also read archived tables, and expired readings, unless they have archive=false: true or false",
			func(s Stream) string { return strconv.FormatBool(s.Archive) },
			func(s *Stream, text string) (err error) {
				if s.Archive, err = strconv.ParseBool(text); err != nil {
					return fmt.Errorf("%q is unknown: use true or false", text)
				}
				return nil
			}),
		"arrivals": at("arrivals", "record changes by arrival, for GET /v1/streams/NAME/arrivals: true or false; default true, on dynamodb false",
			func(s Stream) string { return s.Arrivals },
			func(s *Stream, text string) error {
				s.Arrivals = text
				return oneOf("true", "false")(text)
			}),
		"expect": at("expect", "dynamodb: state of a row that a write expects: new, existing, or auto (the state found last)",
			func(s Stream) string { return s.Expect },
			func(s *Stream, text string) error {
				if _, ok := expects[text]; !ok {
					return fmt.Errorf("%q is unknown: use auto, new or existing", text)
				}
				s.Expect = text
				return nil
			}),
	}
}

func setStreamRetention(s *Stream, text string) error {
	d, err := timefmt.ParseDuration(text)
	if err == nil && d == 0 {
		err = fmt.Errorf("a stream cannot keep readings for %s", text)
	}
	if err == nil {
		s.Retention = d
	}
	return err
}

func setRowWindow(s *Stream, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		return fmt.Errorf("%q is not the time that a row holds: write a whole part of an hour, as 1ms, 1s, 1m, 15m or 1h", text)
	}
	if err := (store.Layout{RowWindow: d}).Validate(); err != nil {
		return err
	}
	s.RowWindow = d
	return nil
}

func setLookback(s *Stream, text string) (err error) {
	s.Lookback, err = timefmt.ParseDuration(text)
	return err
}
