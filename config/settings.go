package config

import (
	"errors"
	"fmt"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/settings"
	"github.com/varvedb/varve/mqtt/topic"
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

type setting = settings.Setting[Config]

var (
	text     = settings.Text[Config]
	span     = settings.Span[Config]
	size     = settings.Bytes[Config]
	whole    = settings.Whole[Config]
	truth    = settings.Truth[Config]
	positive = settings.Positive[Config]
	most     = settings.Most[Config]
	mostSize = settings.MostBytes[Config]
	oneOf    = settings.OneOf
	words    = settings.Words
)

// MaxMemory is the maximum of store.memory, because the embedded store permits no more.
const MaxMemory Size = 512 << 20

// StoreKinds returns the values of store.kind. The first is the default.
func StoreKinds() []string { return []string{"local", "dynamodb", "mem"} }

// all lists all settings, except the settings of single classes, streams, notifiers and topics.
var all = slices.Concat(baseSettings, archiveSettings, promSettings(), ingestSettings(), outputSettings)

// baseSettings has the settings that are in no other list.
var baseSettings = []setting{
	text("server.listen", "address and port to listen on; API keys are required if other machines can reach it", func(c *Config) *string { return &c.Server.Listen }, checkAddress),
	text("server.hosts", "names by which a proxy in front calls the server, separated by commas; with API keys, any name is accepted", func(c *Config) *string { return &c.Server.Hosts }, checkHosts),
	text("server.tls_cert", "file of a certificate chain in PEM; if empty, no TLS", func(c *Config) *string { return &c.Server.TLSCert }, nil),
	text("server.tls_key", "file of the certificate's private key, in PEM", func(c *Config) *string { return &c.Server.TLSKey }, nil),
	truth("server.proxied", "a proxy in front ends TLS: no warning about keys in plain text", func(c *Config) *bool { return &c.Server.Proxied }),
	span("server.drain", "time limit of running requests on shutdown", func(c *Config) *time.Duration { return &c.Server.Drain }),
	text("server.debug_listen", "loopback address and port that serve profiles of the process (pprof); if empty, none", func(c *Config) *string { return &c.Server.DebugListen }, checkDebugAddress),
	text("store.kind", "store of all data: local (a folder), dynamodb, or mem (memory only)", func(c *Config) *string { return &c.Store.Kind }, oneOf(StoreKinds()...)),
	text("store.dir", "local: the data folder", func(c *Config) *string { return &c.Store.Dir }, checkDir),
	mostSize(MaxMemory, positive(size("store.memory", "local: memory for readings before they become chunks", func(c *Config) *Size { return &c.Store.Memory }))),
	positive(size("store.cache", "local: memory for chunks", func(c *Config) *Size { return &c.Store.Cache })),
	text("store.endpoint", "dynamodb: address of an emulator; if empty, AWS", func(c *Config) *string { return &c.Store.Endpoint }, checkEndpoint),
	text("store.region", "dynamodb: region; if empty, AWS_REGION or the profile", func(c *Config) *string { return &c.Store.Region }, nil),
	text("store.registry", "dynamodb: table of the registry; if empty, <prefix>_registry", func(c *Config) *string { return &c.Store.Registry }, checkRegistry),
	whole("store.table_quota", "dynamodb: quota of tables of the account and region; doctor and the plan warn before it is reached", 1, func(c *Config) *int { return &c.Store.TableQuota }),
	size("store.min_free", "local: free space of the disk below which readings are refused", func(c *Config) *Size { return &c.Store.MinFree }),
	text("tables.prefix", "prefix of the names of all tables", func(c *Config) *string { return &c.Tables.Prefix }, nil),
	span("tables.future", "how far ahead of its arrival an event time may lie", func(c *Config) *time.Duration { return &c.Tables.Future }),
	whole("tables.recent_weeks", "weeks before an arrival month that have a table each", 0, func(c *Config) *int { return &c.Tables.RecentWeeks }),
	span("tables.doubling", "how far back tables of 2, 4, 8 … weeks reach", func(c *Config) *time.Duration { return &c.Tables.Doubling }),
	most(rotator.MaxMonthsAhead, whole("tables.months_ahead", "arrival months after the current one whose tables exist in advance", 1, func(c *Config) *int { return &c.Tables.MonthsAhead })),
	dropSetting(),
	positive(span("retention.grace", "how long a table stays retired before it is dropped; with roll-ups at least 3d", func(c *Config) *time.Duration { return &c.Retention.Grace })),
	positive(span("retention.seal", "how long after a month's end its tables may still be written to", func(c *Config) *time.Duration { return &c.Retention.Seal })),
	text("retention.schedule", "when the rotator runs, as for cron, in UTC", func(c *Config) *string { return &c.Retention.Schedule }, checkSchedule),
	whole("retention.max_drops", "maximum number of tables that one run drops", 1, func(c *Config) *int { return &c.Retention.MaxDrops }),
	truth("rollups.enabled", "compute hourly and daily roll-ups", func(c *Config) *bool { return &c.Rollups.Enabled }),
	text("receipts.key_file", "file of the private key of receipts, in PEM; if empty, a key is created in the registry", func(c *Config) *string { return &c.Receipts.KeyFile }, nil),
	text("rollups.resent", "possible copies of dropped readings: ignore (never counted twice) or count (never missing)", func(c *Config) *string { return &c.Rollups.Resent }, oneOf("ignore", "count")),
	text("alerts.url", "address of Varve for people, in messages about alerts; if empty, messages have none", func(c *Config) *string { return &c.Alerts.URL }, checkPublicURL),
	positive(span("alerts.digest", "time over which the late alerts of a rule are collected in one message", func(c *Config) *time.Duration { return &c.Alerts.Digest })),
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
	truth("aws.firehose", "serve the route to which Amazon Data Firehose delivers records", func(c *Config) *bool { return &c.AWS.Firehose }),
	text("aws.iot.accounts", "AWS accounts whose IoT Core rules may send messages, separated by commas; if empty, no account may", func(c *Config) *string { return &c.AWS.IoT.Accounts }, checkAccounts),
	text("mqtt.url", "broker from which messages are read, as in mqtt://broker:1883 or mqtts://broker:8883; if empty, none", func(c *Config) *string { return &c.MQTT.URL }, checkBroker),
	text("mqtt.user", "user at the broker", func(c *Config) *string { return &c.MQTT.User }, nil),
	text("mqtt.password_file", "file with the password at the broker", func(c *Config) *string { return &c.MQTT.PasswordFile }, nil),
	text("mqtt.client_id", "client id at the broker; it names the session, so each process needs its own", func(c *Config) *string { return &c.MQTT.ClientID }, checkClientID),
	text("mqtt.protocol", "version of MQTT at the broker: auto, 5 or 3.1.1", func(c *Config) *string { return &c.MQTT.Protocol }, oneOf("auto", "5", "3.1.1")),
	text("mqtt.ca_file", "file of the certificates that the broker's certificate is checked with; if empty, the system's", func(c *Config) *string { return &c.MQTT.CAFile }, nil),
	text("mqtt.cert_file", "file of a certificate chain for the broker, in PEM", func(c *Config) *string { return &c.MQTT.CertFile }, nil),
	text("mqtt.key_file", "file of the private key of mqtt.cert_file", func(c *Config) *string { return &c.MQTT.KeyFile }, nil),
	text("mqtt.share", "name of a shared subscription, with which several processes share the messages; if empty, none", func(c *Config) *string { return &c.MQTT.Share }, checkShare),
	text("mqtt.tenant", "tenant of the broker's messages whose topics name none", func(c *Config) *string { return &c.MQTT.Tenant }, func(s string) error { return varve.ValidateName("tenant", s) }),
	most(maxWindow, whole("mqtt.window", "messages of the broker that may be stored at the same time", 1, func(c *Config) *int { return &c.MQTT.Window })),
	positive(span("mqtt.session", "how long the broker keeps messages while this process is away; with MQTT 3.1.1, the broker decides", func(c *Config) *time.Duration { return &c.MQTT.Session })),
	text("mqtt.listen", "address and port on which devices connect with MQTT; if empty, none", func(c *Config) *string { return &c.MQTT.Listen }, checkListen),
	positive(size("mqtt.max_message", "maximum length of a message", func(c *Config) *Size { return &c.MQTT.MaxMessage })),
	text("mqtt.presets", "topics of common senders, separated by commas: "+strings.Join(topic.Presets(), ", "), func(c *Config) *string { return &c.MQTT.Presets }, checkPresets),
}

// outputSettings are the settings of logs, rejects, the console and metrics.
var outputSettings = []setting{
	positive(span("logs.retention", "how long new entries of device logs live; existing entries keep their time", func(c *Config) *time.Duration { return &c.Logs.Retention })),
	whole("rejects.limit", "maximum number of stored rejects per tenant and stream; a tenant may have ten times as many; 0 stores none", 0, func(c *Config) *int { return &c.Rejects.Limit }),
	span("rejects.retention", "how long a reject lives after its last arrival; 0s stores none", func(c *Config) *time.Duration { return &c.Rejects.Retention }),
	text("log.level", "debug, info, warn or error", func(c *Config) *string { return &c.Log.Level }, oneOf("debug", "info", "warn", "error")),
	text("log.format", "console or json", func(c *Config) *string { return &c.Log.Format }, oneOf("console", "json")),
	truth("console.enabled", "serve the console, pages for browsers, at /ui", func(c *Config) *bool { return &c.Console.Enabled }),
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

// find returns the setting of a key. It creates the settings of a class, stream, notifier or topic for
// the name in the key.
func find(key string) (setting, bool) {
	for _, s := range all {
		if s.Key == key {
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
	}
	if group == "topics" {
		s, ok := topicSettings(name)[what]
		return s, ok
	}
	switch group + "." + what {
	case "streams.class", "streams.retention", "streams.row_window", "streams.expect", "streams.clock_policy", "streams.lookback", "streams.archive", "streams.arrivals":
		return streamSettings(name)[what], true
	}
	if s, ok := notifierSettings(name)[what]; ok && group == "notifiers" {
		return s, true
	}
	return setting{}, false
}

func classRetention(key, name string) setting {
	return setting{
		Key: key, Doc: "how long readings of the class live",
		Get: func(c *Config) string { return timefmt.FormatDuration(c.Classes[name].Retention) },
		Set: func(c *Config, s string) error {
			d, err := timefmt.ParseDuration(s)
			if err == nil && d == 0 {
				err = fmt.Errorf("a class cannot keep readings for %s", s)
			}
			if err != nil {
				d = 365 * 24 * time.Hour // the mistake is reported; the default prevents further mistakes
			}
			c.Classes[name] = Class{Retention: d}
			return err
		},
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// keys returns the keys of all settings, and of the settings of each class, stream, notifier and
// topic. Settings of a stream, notifier or topic that are not set are omitted.
func (c *Config) keys() []string {
	var keys []string
	for _, s := range all {
		keys = append(keys, s.Key)
	}
	for _, name := range sortedKeys(c.Classes) {
		keys = append(keys, "classes."+name+".retention")
	}
	for _, name := range sortedKeys(c.Streams) {
		of := streamSettings(name)
		for _, what := range sortedKeys(of) {
			if of[what].Get(c) != of[what].Get(&Config{}) {
				keys = append(keys, of[what].Key)
			}
		}
	}
	for _, name := range sortedKeys(c.Notifiers) {
		of := notifierSettings(name)
		for _, what := range sortedKeys(of) {
			if of[what].Get(c) != "" {
				keys = append(keys, of[what].Key)
			}
		}
	}
	for _, name := range sortedKeys(c.Topics) {
		of := topicSettings(name)
		for _, what := range sortedKeys(of) {
			if of[what].Get(c) != "" {
				keys = append(keys, of[what].Key)
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
