// Package config reads Varve's configuration.
//
//	defaults ◀─ YAML file ◀─ environment (VARVE_…) ◀─ flags   (each overrides all on its left)
//	                      │
//	                      ▼
//	        Loaded: Config, and the origin of each value
//
// The main types and functions:
//
//   - [Config] has all settings, and derives the policies of other packages.
//   - [Source] names the file, the environment and the flags.
//   - [Load] returns [Loaded]: the settings with their origins.
//   - [Mistakes] lists all mistakes together, each with its origin.
//
// Load returns the valid settings even if others are invalid. Then the error is Mistakes. An
// unknown setting is a mistake, and an unknown variable with the prefix [EnvPrefix] is a warning.
// Secrets of notifiers and brokers are in files or variables, and a Config has only their names.
// The exception is a password or token in an address: see [Loaded.PublicValues].
package config

import (
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/settings"
	"github.com/varvedb/varve/mqtt/topic"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"net"
	"strings"
	"time"
)

// Config is the whole configuration.
type Config struct {
	Server    Server
	Store     Store
	Tables    Tables
	Retention Retention
	Archive   Archive
	Classes   map[string]Class
	Streams   map[string]Stream
	Notifiers map[string]Notifier
	Alerts    Alerts
	Receipts  Receipts
	Rollups   Rollups
	Limits    Limits
	Logs      Logs
	Rejects   Rejects
	Query     Query
	Influx    Influx
	AWS       AWS
	Ingest    Ingest
	MQTT      MQTT
	Topics    map[string]topic.Rule
	Log       Log
	Metrics   Metrics
	Console   Console

	Prometheus Prometheus
}

// Server configures the HTTP server.
type Server struct {
	Listen  string        // address and port
	Hosts   string        // host names that a proxy in front of the server uses for it, separated by commas
	TLSCert string        // file of a certificate chain; if empty, no TLS
	TLSKey  string        // file of the certificate's private key
	Proxied bool          // if true, a proxy in front of the server terminates TLS
	Drain   time.Duration // maximum time for which a shutdown waits for running requests
	// DebugListen is a loopback address and port that serve profiles. If empty, profiles are off.
	DebugListen string
}

// Loopback reports whether only this machine can reach the server's address.
func (s Server) Loopback() bool {
	host, _, err := net.SplitHostPort(s.Listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// URL returns the URL by which programs on this machine reach a server that listens on an
// address.
func (s Server) URL(address string) string {
	scheme := "http://"
	if s.TLSCert != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + address
}

// HostList returns the names in Hosts.
func (s Server) HostList() []string { return words(s.Hosts) }

// Store configures the store of all data.
type Store struct {
	Kind     string // local, mem or dynamodb
	Dir      string // for local: the data folder
	Memory   Size   // for local: memory for readings that are not in chunks yet
	Cache    Size   // for local: memory for cached chunks
	MinFree  Size   // for local: the free space on the disk below which readings are refused
	Endpoint string // for dynamodb: address of an emulator; if empty, AWS
	Region   string // for dynamodb: region; if empty, the environment or the profile has it
	Registry string // for dynamodb: name of the registry's table; if empty, <prefix>_registry
	// TableQuota is, for dynamodb, the number of tables that the account may have in the region.
	TableQuota int
}

// Tables configures the grid of tables.
type Tables struct {
	Prefix      string
	Future      time.Duration
	RecentWeeks int
	Doubling    time.Duration
	MonthsAhead int // number of arrival months after the current one whose tables are created in advance
}

// Retention configures when tables are sealed, retired and dropped.
type Retention struct {
	Drop         bool
	ArchiveFirst bool // if true, only tables with a verified archive are dropped
	Grace        time.Duration
	Seal         time.Duration
	Schedule     string
	MaxDrops     int
}

// Receipts configures signed receipts.
type Receipts struct {
	KeyFile string // file of the private key; if empty, the key is in the registry
}

// Rollups configures hourly and daily roll-ups.
type Rollups struct {
	Enabled bool
	Resent  string // treatment of a reading that may be a copy of a dropped reading: ignore or count
}

// Class is a retention class.
type Class struct{ Retention time.Duration }

// Stream is the configuration of one stream.
type Stream struct {
	Class       string
	Retention   time.Duration
	RowWindow   time.Duration // for dynamodb: the time that a row covers; 0 means a millisecond
	ClockPolicy string        // for readings with an unacceptable time: refuse, quarantine or correct; if empty, refuse
	Lookback    time.Duration // look-back of PromQL; 0 means Prometheus.Lookback
	Archive     bool          // if true, queries read archived tables by default
	Arrivals    string        // whether changes are recorded by arrival: true or false; if empty, true except on dynamodb
	Expect      string        // for dynamodb: whether rows are expected to exist: auto, new or existing; if empty, auto
}

// Limits bounds the duration, size and number of requests.
type Limits struct {
	Body     Size
	Request  time.Duration
	Stall    time.Duration
	Requests int
	Readings int
	Reads    int
	// SeriesFields is the maximum number of different fields of a device in a stream.
	SeriesFields int
}

// Console configures the pages for browsers.
type Console struct{ Enabled bool }

// Influx configures the routes of InfluxDB's line protocol.
type Influx struct {
	Enabled   bool
	Device    string // tags that may name the device, separated by commas; the first one that a line has is used
	Tags      string // whether the other tags are fields, or part of the device's name: fields or series
	FieldTags string // tags that become fields even if Tags is series, separated by commas
	Databases string // names of accepted databases and buckets, separated by commas; if empty, any name
}

// Mapping returns the assignment of tags to readings.
func (i Influx) Mapping() *wire.LineMapping {
	return &wire.LineMapping{Device: words(i.Device), TagFields: i.Tags == "fields", FieldTags: words(i.FieldTags)}
}

// DatabaseList returns the names in Databases.
func (i Influx) DatabaseList() []string { return words(i.Databases) }

// Logs configures the logs of devices.
type Logs struct{ Retention time.Duration }

// Rejects configures the storage of rejected readings.
type Rejects struct {
	Limit     int           // maximum number of rejects per tenant and stream; 0 means that none is stored
	Retention time.Duration // how long a reject lives after its last arrival; 0 means that none is stored
}

// Log configures the log of the process.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // console or json
}

// Metrics configures the output of metrics in addition to the route /metrics.
type Metrics struct {
	CloudWatch bool // if true, metrics for Amazon CloudWatch are written to standard output
}

// Size is a number of bytes.
type Size = settings.Size

// ParseSize parses a number of bytes, or a number with the unit KiB, MiB or GiB.
func ParseSize(s string) (Size, error) { return settings.ParseSize(s) }

// Default returns the configuration that applies without any source.
func Default() Config {
	layout := grid.DefaultPolicy()
	rotation := rotator.Policy{}.WithDefaults()
	return Config{
		Server: Server{Listen: "127.0.0.1:8278", Drain: 30 * time.Second},
		Store:  Store{Kind: StoreKinds()[0], Dir: "data", Memory: 64 << 20, Cache: 64 << 20, MinFree: 256 << 20, TableQuota: 2500},
		Tables: Tables{Prefix: "varve", Future: layout.Future, RecentWeeks: layout.Recent, Doubling: layout.Doubling, MonthsAhead: rotation.MonthsAhead},
		Retention: Retention{
			Grace: rotation.Grace, Seal: rotation.Seal, Schedule: "@hourly", MaxDrops: rotation.MaxDrops,
		},
		Archive: defaultArchive(),
		Classes: map[string]Class{retention.DefaultClass: {Retention: 365 * 24 * time.Hour}},
		Streams: map[string]Stream{}, Notifiers: map[string]Notifier{}, Alerts: Alerts{Digest: notify.DefaultDigest},
		Rollups: Rollups{Enabled: true, Resent: rollup.IgnoreResent.String()},
		Limits:  Limits{Body: 1 << 30, Request: router.DefaultRequestTimeout, Stall: time.Minute, Requests: 4096, Readings: 65536, Reads: 512, SeriesFields: fields.DefaultLimit},
		Query:   defaultQuery(),
		Logs:    Logs{Retention: devicelog.DefaultRetention},
		Rejects: Rejects{Limit: rejects.DefaultLimit, Retention: rejects.DefaultRetention},
		Console: Console{Enabled: true},
		Influx:  Influx{Enabled: true, Device: strings.Join(wire.DefaultDeviceTags, ","), Tags: "series"},
		Ingest:  defaultIngest(),
		MQTT:    defaultMQTT(),
		Topics:  map[string]topic.Rule{},
		Log:     Log{Level: "info", Format: "console"},
	}
}

// Grid returns the policy of the grid.
func (c *Config) Grid() grid.Policy {
	return grid.Policy{Future: c.Tables.Future, Recent: c.Tables.RecentWeeks, Doubling: c.Tables.Doubling}
}

// Policy returns the retention of classes and streams.
func (c *Config) Policy() *retention.Policy {
	p := &retention.Policy{Prefix: c.Tables.Prefix, Streams: map[string]retention.Stream{}}
	for _, name := range sortedKeys(c.Classes) {
		p.Classes = append(p.Classes, retention.Class{Name: name, Retention: c.Classes[name].Retention})
	}
	for name, s := range c.Streams {
		p.Streams[name] = retention.Stream{Class: s.Class, Retention: s.Retention}
	}
	return p
}

// expects maps the values of the setting "expect" to constants of package store.
var expects = map[string]store.Expect{"auto": store.ExpectAuto, "new": store.ExpectNew, "existing": store.ExpectExisting}

// Layouts returns the layouts of the streams that have their own layout.
func (c *Config) Layouts() map[string]store.Layout {
	layouts := map[string]store.Layout{}
	for name, s := range c.Streams {
		if s.RowWindow != 0 || s.Expect != "" {
			layouts[name] = store.Layout{RowWindow: s.RowWindow, Expect: expects[s.Expect]}
		}
	}
	return layouts
}

// Clock policies of streams. Both store readings with an unacceptable time as rejects. The policy
// "correct" also corrects a time in the future, if the known error of the device's clock explains it.
const (
	quarantine = "quarantine"
	correct    = "correct"
)

// CorrectClocks returns the streams in which event times in the future are corrected.
func (c *Config) CorrectClocks() map[string]bool {
	corrected := map[string]bool{}
	for name, s := range c.Streams {
		if s.ClockPolicy == correct {
			corrected[name] = true
		}
	}
	return corrected
}

// RejectOptions returns the bounds of rejects, and the streams with a quarantine.
func (c *Config) RejectOptions() rejects.Options {
	o := rejects.Options{Limit: c.Rejects.Limit, Retention: c.Rejects.Retention, Quarantine: map[string]bool{}}
	for name, s := range c.Streams {
		o.Quarantine[name] = s.ClockPolicy == quarantine || s.ClockPolicy == correct
	}
	return o
}

// Rotation returns the policy of the rotator. The engine uses it unchanged.
func (c *Config) Rotation() rotator.Policy {
	p := rotator.Policy{
		Grid: c.Grid(), Retention: c.Policy(), MonthsAhead: c.Tables.MonthsAhead, Drop: c.Retention.Drop, ArchiveFirst: c.Retention.ArchiveFirst,
		Seal: c.Retention.Seal, Grace: c.Retention.Grace, MaxDrops: c.Retention.MaxDrops,
	}
	if c.Rollups.Enabled {
		p.RecountGrace = rollup.RecountWindow
	}
	return p
}

// resents maps names to the ways in which resent readings count.
var resents = map[string]rollup.Resent{"ignore": rollup.IgnoreResent, "count": rollup.CountResent}

// Resent returns how roll-ups count possible copies of dropped readings.
func (c *Config) Resent() rollup.Resent { return resents[c.Rollups.Resent] }
