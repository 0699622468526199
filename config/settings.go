package config

import (
	"errors"
	"fmt"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/timefmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is a single setting with its key, its description and its text form.
type setting struct {
	key string // such as server.listen
	doc string
	get func(*Config) string
	set func(*Config, string) error
}

func text(key, doc string, at func(*Config) *string, check func(string) error) setting {
	return setting{key, doc, func(c *Config) string { return *at(c) }, func(c *Config, s string) error {
		if check != nil {
			if err := check(s); err != nil {
				return err
			}
		}
		*at(c) = s
		return nil
	}}
}

func span(key, doc string, at func(*Config) *time.Duration) setting {
	return setting{key, doc, func(c *Config) string { return timefmt.FormatDuration(*at(c)) }, func(c *Config, s string) error {
		d, err := timefmt.ParseDuration(s)
		if err == nil {
			*at(c) = d
		}
		return err
	}}
}

func size(key, doc string, at func(*Config) *Size) setting {
	return setting{key, doc, func(c *Config) string { return at(c).String() }, func(c *Config, s string) error {
		n, err := ParseSize(s)
		if err == nil {
			*at(c) = n
		}
		return err
	}}
}

// positive returns a setting that rejects 0, which would mean the default.
func positive(s setting) setting {
	set := s.set
	s.set = func(c *Config, text string) error {
		changed := *c
		if err := set(&changed, text); err != nil {
			return err
		}
		if got := s.get(&changed); got == "0" || got == "0s" {
			return fmt.Errorf("%s is too little: it must be more than 0", got)
		}
		*c = changed
		return nil
	}
	return s
}

// most returns a setting that rejects whole numbers above a bound.
func most(bound int, s setting) setting {
	set := s.set
	s.set = func(c *Config, text string) error {
		if n, err := strconv.Atoi(text); err == nil && n > bound {
			return fmt.Errorf("%d is too much: it must be at most %d", n, bound)
		}
		return set(c, text)
	}
	return s
}

func whole(key, doc string, least int, at func(*Config) *int) setting {
	return setting{key, doc, func(c *Config) string { return strconv.Itoa(*at(c)) }, func(c *Config, s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a whole number from %d on", s, least)
		}
		*at(c) = n
		return nil
	}}
}

func truth(key, doc string, at func(*Config) *bool) setting {
	return setting{key, doc, func(c *Config) string { return strconv.FormatBool(*at(c)) }, func(c *Config, s string) error {
		if s != "true" && s != "false" {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		*at(c) = s == "true"
		return nil
	}}
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is unknown: use %s", s, strings.Join(words, " or "))
		}
		return nil
	}
}

// StoreKinds returns the values of store.kind. The first is the default.
func StoreKinds() []string { return []string{"local", "dynamodb", "mem"} }

// settings lists all settings, except the settings of single classes and streams.
var settings = []setting{
	text("server.listen", "address and port to listen on; one that other machines reach takes API keys", func(c *Config) *string { return &c.Server.Listen }, checkAddress),
	text("server.hosts", "names by which a proxy in front calls the server, separated by commas; with API keys, any name is accepted", func(c *Config) *string { return &c.Server.Hosts }, checkHosts),
	text("server.tls_cert", "file of a certificate chain in PEM; if empty, no TLS", func(c *Config) *string { return &c.Server.TLSCert }, nil),
	text("server.tls_key", "file of the certificate's private key, in PEM", func(c *Config) *string { return &c.Server.TLSKey }, nil),
	truth("server.proxied", "a proxy in front ends TLS: no warning about keys in plain text", func(c *Config) *bool { return &c.Server.Proxied }),
	span("server.drain", "time limit of running requests on shutdown", func(c *Config) *time.Duration { return &c.Server.Drain }),
	text("server.debug_listen", "loopback address and port that serve profiles of the process (pprof); if empty, none", func(c *Config) *string { return &c.Server.DebugListen }, checkDebugAddress),
	text("store.kind", "store of all data: local (a folder), dynamodb, or mem (memory only)", func(c *Config) *string { return &c.Store.Kind }, oneOf(StoreKinds()...)),
	text("store.dir", "local: the data folder", func(c *Config) *string { return &c.Store.Dir }, checkDir),
	positive(size("store.memory", "local: memory for readings before they become chunks", func(c *Config) *Size { return &c.Store.Memory })),
	positive(size("store.cache", "local: memory for chunks", func(c *Config) *Size { return &c.Store.Cache })),
	text("store.endpoint", "dynamodb: address of an emulator; if empty, AWS", func(c *Config) *string { return &c.Store.Endpoint }, checkEndpoint),
	text("store.region", "dynamodb: region; if empty, AWS_REGION or the profile", func(c *Config) *string { return &c.Store.Region }, nil),
	text("store.registry", "dynamodb: table of the registry; empty: <prefix>_registry", func(c *Config) *string { return &c.Store.Registry }, checkRegistry),
	whole("store.table_quota", "dynamodb: quota of tables of the account and region; doctor and the plan warn before it is met", 1, func(c *Config) *int { return &c.Store.TableQuota }),
	size("store.min_free", "local: free space of the disk below which readings are refused", func(c *Config) *Size { return &c.Store.MinFree }),
	text("tables.prefix", "prefix of the names of all tables", func(c *Config) *string { return &c.Tables.Prefix }, nil),
	span("tables.future", "how far ahead of its arrival an event time may lie", func(c *Config) *time.Duration { return &c.Tables.Future }),
	whole("tables.recent_weeks", "weeks before an arrival month that have a table each", 0, func(c *Config) *int { return &c.Tables.RecentWeeks }),
	span("tables.doubling", "how far back tables of 2, 4, 8 … weeks reach", func(c *Config) *time.Duration { return &c.Tables.Doubling }),
	most(rotator.MaxMonthsAhead, whole("tables.months_ahead", "arrival months after the current one whose tables exist in advance", 1, func(c *Config) *int { return &c.Tables.MonthsAhead })),
	truth("retention.drop", "drop tables whose readings have all expired", func(c *Config) *bool { return &c.Retention.Drop }),
	positive(span("retention.grace", "how long a table stays retired before it is dropped; with roll-ups at least 3d", func(c *Config) *time.Duration { return &c.Retention.Grace })),
	positive(span("retention.seal", "how long after a month's end its tables may still be written to", func(c *Config) *time.Duration { return &c.Retention.Seal })),
	text("retention.schedule", "when the rotator runs, as for cron, in UTC", func(c *Config) *string { return &c.Retention.Schedule }, checkSchedule),
	whole("retention.max_drops", "maximum number of tables that one run drops", 1, func(c *Config) *int { return &c.Retention.MaxDrops }),
	truth("rollups.enabled", "compute hourly and daily roll-ups", func(c *Config) *bool { return &c.Rollups.Enabled }),
	text("rollups.resent", "possible copies of dropped readings: ignore (never counted twice) or count (never missing)", func(c *Config) *string { return &c.Rollups.Resent }, oneOf("ignore", "count")),
	positive(size("limits.body", "maximum length of a write's body after decompression", func(c *Config) *Size { return &c.Limits.Body })),
	positive(span("limits.request", "time limit of a request", func(c *Config) *time.Duration { return &c.Limits.Request })),
	positive(span("limits.stall", "longest time without progress on a connection", func(c *Config) *time.Duration { return &c.Limits.Stall })),
	whole("limits.requests", "concurrent writes", 1, func(c *Config) *int { return &c.Limits.Requests }),
	whole("limits.readings", "readings in concurrent writes", 2, func(c *Config) *int { return &c.Limits.Readings }),
	whole("limits.reads", "concurrent reads", 1, func(c *Config) *int { return &c.Limits.Reads }),
	most(fields.MaxLimit, whole("limits.series_fields", "different fields of a device in a stream", 1, func(c *Config) *int { return &c.Limits.SeriesFields })),
	truth("influx.enabled", "serve the routes of InfluxDB's line protocol beside the API", func(c *Config) *bool { return &c.Influx.Enabled }),
	text("influx.device", "line protocol: tags that may hold the device, separated by commas; the first one of a line is used", func(c *Config) *string { return &c.Influx.Device }, checkDeviceTags),
	text("influx.tags", "line protocol: use of the other tags: series (part of the device's name) or fields", func(c *Config) *string { return &c.Influx.Tags }, oneOf("series", "fields")),
	text("influx.field_tags", "line protocol: tags that are fields in either case, separated by commas", func(c *Config) *string { return &c.Influx.FieldTags }, checkTags),
	text("influx.databases", "line protocol: databases and buckets that clients may name, separated by commas; if empty, any", func(c *Config) *string { return &c.Influx.Databases }, nil),
	positive(span("logs.retention", "how long new entries of device logs live; existing entries keep their time", func(c *Config) *time.Duration { return &c.Logs.Retention })),
	text("log.level", "debug, info, warn or error", func(c *Config) *string { return &c.Log.Level }, oneOf("debug", "info", "warn", "error")),
	text("log.format", "console or json", func(c *Config) *string { return &c.Log.Format }, oneOf("console", "json")),
	truth("metrics.cloudwatch", "once a minute, write metrics for Amazon CloudWatch to standard output", func(c *Config) *bool { return &c.Metrics.CloudWatch }),
}

func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address and port, as in 127.0.0.1:8278", s)
	}
	return nil
}

// checkDebugAddress accepts loopback addresses only, because profiles require no API key.
func checkDebugAddress(s string) error {
	if s == "" {
		return nil
	}
	if err := checkAddress(s); err != nil {
		return err
	}
	if !(Server{Listen: s}).Loopback() {
		return fmt.Errorf("%q is not a loopback address, and profiles take no API key: use 127.0.0.1:6060", s)
	}
	return nil
}

func checkHosts(s string) error {
	for _, host := range (Server{Hosts: s}).HostList() {
		if strings.ContainsAny(host, "/ *") {
			return fmt.Errorf("%q is not the name of a host, as in varve.example.com", host)
		}
	}
	return nil
}

func checkDir(s string) error {
	if s == "" {
		return fmt.Errorf("the data folder is empty")
	}
	return nil
}

func checkEndpoint(s string) error {
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%q is not an address, as in http://127.0.0.1:8000", s)
	}
	return nil
}

var registryName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

func checkRegistry(s string) error {
	if _, isTable := grid.Parse(s); s != "" && (!registryName.MatchString(s) || isTable) {
		return fmt.Errorf("%q cannot name the registry: use 3 to 255 of letters, digits, _ . -", s)
	}
	return nil
}

func checkSchedule(s string) error {
	_, err := rotator.ParseSchedule(s)
	return err
}

// find returns the setting of a key. It creates settings of classes and streams for
// the name in the key.
func find(key string) (setting, bool) {
	for _, s := range settings {
		if s.key == key {
			return s, true
		}
	}
	group, rest, _ := strings.Cut(key, ".")
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return setting{}, false
	}
	name, what := rest[:dot], rest[dot+1:]
	switch group + "." + what {
	case "classes.retention":
		return classRetention(key, name), true
	case "streams.class", "streams.retention", "streams.row_window", "streams.expect":
		return streamSettings(name)[what], true
	}
	return setting{}, false
}

func classRetention(key, name string) setting {
	return setting{key, "how long readings of the class live",
		func(c *Config) string { return timefmt.FormatDuration(c.Classes[name].Retention) },
		func(c *Config, s string) error {
			d, err := timefmt.ParseDuration(s)
			if err == nil && d == 0 {
				err = fmt.Errorf("a class cannot keep readings for %s", s)
			}
			if err != nil {
				d = 365 * 24 * time.Hour // the mistake is reported; the default prevents further mistakes
			}
			c.Classes[name] = Class{Retention: d}
			return err
		}}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// keys returns the keys of all settings, and of the settings of each class and stream. Settings of
// a stream that are not set are omitted.
func (c *Config) keys() []string {
	var keys []string
	for _, s := range settings {
		keys = append(keys, s.key)
	}
	for _, name := range sortedKeys(c.Classes) {
		keys = append(keys, "classes."+name+".retention")
	}
	for _, name := range sortedKeys(c.Streams) {
		of := streamSettings(name)
		for _, what := range sortedKeys(of) {
			if of[what].get(c) != of[what].get(&Config{}) {
				keys = append(keys, of[what].key)
			}
		}
	}
	return keys
}

// checkTags rejects lists of tags with an empty or repeated name.
func checkTags(list string) error {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	var seen []string
	for tag := range strings.SplitSeq(list, ",") {
		switch tag = strings.TrimSpace(tag); {
		case tag == "":
			return fmt.Errorf("%q has an empty name: separate tags by one comma", list)
		case slices.Contains(seen, tag):
			return fmt.Errorf("tag %s occurs twice: remove one", tag)
		}
		seen = append(seen, tag)
	}
	return nil
}

// checkDeviceTags rejects the same lists as checkTags, and also an empty list.
func checkDeviceTags(list string) error {
	if strings.TrimSpace(list) == "" {
		return errors.New("required: name the tag that holds the device")
	}
	return checkTags(list)
}
