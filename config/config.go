// Package config reads Varve's configuration.
//
//	defaults ◀── YAML file ◀── environment (VARVE_…) ◀── flags   (each overrides the layers on its left)
//	                        │
//	                        ▼
//	          Loaded: Config, and the origin of each value
//
// The main types:
//
//   - Config holds all settings, and derives the policies of other packages.
//   - Source names the file, the environment and the flags.
//   - Mistakes lists all mistakes at once, each with its place.
//
// Load returns the valid settings even if others are invalid.
package config

import (
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Config is the whole configuration.
type Config struct {
	Server    Server
	Store     Store
	Tables    Tables
	Retention Retention
	Classes   map[string]Class
	Streams   map[string]Stream
	Rollups   Rollups
	Limits    Limits
	Logs      Logs
	Influx    Influx
	Log       Log
	Metrics   Metrics
}

// Server configures the HTTP server.
type Server struct {
	Listen  string        // address and port
	Hosts   string        // names by which a proxy in front calls the server, separated by commas
	TLSCert string        // file of a certificate chain; if empty, no TLS
	TLSKey  string        // file of the certificate's private key
	Proxied bool          // if true, a proxy in front terminates TLS
	Drain   time.Duration // the time limit of running requests on shutdown
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
	Dir      string // local: the data folder
	Memory   Size   // local: memory for readings that are not in chunks yet
	Cache    Size   // local: memory for cached chunks
	MinFree  Size   // local: the free space on the disk below which readings are refused
	Endpoint string // dynamodb: the address of an emulator; if empty, AWS
	Region   string // dynamodb: the region; if empty, the environment's
	Registry string // dynamodb: the registry's table; if empty, <prefix>_registry
	// TableQuota is the quota of tables of the account and region; dynamodb only.
	TableQuota int
}

// Tables configures the grid of tables.
type Tables struct {
	Prefix      string
	Future      time.Duration
	RecentWeeks int
	Doubling    time.Duration
	MonthsAhead int // arrival months after the current one whose tables are created in advance
}

// Retention configures when tables are sealed, retired and dropped.
type Retention struct {
	Drop     bool
	Grace    time.Duration
	Seal     time.Duration
	Schedule string
	MaxDrops int
}

// Rollups configures hourly and daily roll-ups.
type Rollups struct {
	Enabled bool
	Resent  string // ignore or count
}

// Class is a retention class.
type Class struct{ Retention time.Duration }

// Stream is the configuration of one stream.
type Stream struct {
	Class     string
	Retention time.Duration
	RowWindow time.Duration // dynamodb: the time that a row covers; 0 means a millisecond
	Expect    string        // dynamodb: auto, new or existing: whether most rows are expected to exist; if empty, auto
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

// Influx configures the routes of InfluxDB's line protocol.
type Influx struct {
	Enabled   bool
	Device    string // tags that may hold the device, separated by commas; the first one of a line is used
	Tags      string // use of the other tags: series or fields
	FieldTags string // tags that are fields in either case, separated by commas
	Databases string // names of accepted databases and buckets, separated by commas; if empty, any name
}

// Mapping returns the assignment of tags to readings.
func (i Influx) Mapping() *wire.LineMapping {
	return &wire.LineMapping{Device: words(i.Device), TagFields: i.Tags == "fields", FieldTags: words(i.FieldTags)}
}

// DatabaseList returns the names in Databases.
func (i Influx) DatabaseList() []string { return words(i.Databases) }

// words returns the parts of a text that commas separate.
func words(text string) (all []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// Logs configures the logs of devices.
type Logs struct{ Retention time.Duration }

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
type Size int64

// ParseSize parses a number of bytes, or a number with the unit KiB, MiB or GiB.
func ParseSize(s string) (Size, error) {
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if text, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if shift := 10 * (i + 1); err == nil && n >= 0 && n <= math.MaxInt64>>shift {
				return Size(n << shift), nil
			}
			return 0, sizeError(s)
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, sizeError(s)
	}
	return Size(n), nil
}

func sizeError(s string) error {
	return fmt.Errorf("%q is not a size: write bytes, or a number with KiB, MiB or GiB", s)
}

// String formats the size so that ParseSize can parse it.
func (s Size) String() string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if one := Size(1) << (30 - 10*i); s >= one && s%one == 0 {
			return fmt.Sprintf("%d%s", s/one, unit)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

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
		Classes: map[string]Class{retention.DefaultClass: {Retention: 365 * 24 * time.Hour}},
		Streams: map[string]Stream{},
		Rollups: Rollups{Enabled: true, Resent: rollup.IgnoreResent.String()},
		Limits:  Limits{Body: 1 << 30, Request: router.DefaultRequestTimeout, Stall: time.Minute, Requests: 4096, Readings: 65536, Reads: 512, SeriesFields: fields.DefaultLimit},
		Logs:    Logs{Retention: devicelog.DefaultRetention},
		Influx:  Influx{Enabled: true, Device: strings.Join(wire.DefaultDeviceTags, ","), Tags: "series"},
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

// expects maps the values of the setting expect to constants of package store.
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

// Rotation returns the policy of the rotator. The engine uses it unchanged.
func (c *Config) Rotation() rotator.Policy {
	p := rotator.Policy{
		Grid: c.Grid(), Retention: c.Policy(), MonthsAhead: c.Tables.MonthsAhead, Drop: c.Retention.Drop,
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
