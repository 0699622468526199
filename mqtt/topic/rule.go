package topic

import (
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/quote"
)

// Rule is the configuration of a pattern, not an alert rule. An empty field has the value of the preset,
// or else its default.
type Rule struct {
	Preset  string
	Pattern string
	Payload string // the kind of the payload; default json
	// Stream, Device, Tenant and Field are texts with names of the pattern in braces. The default of
	// Stream is {stream} if the pattern has this name, and likewise for the others.
	Stream, Device, Tenant, Field string
	Time                          string // arrival (default) gives readings without a time their arrival; required rejects them
	TimeAt                        string // for the payload flatten: path of the time, as in uplink.received_at; default time
	FieldsAt                      string // for the payload flatten: path of the object with the fields; default the whole payload
	Precision                     string // unit of numeric times: s, ms, us or ns; default ms, or ns for the payload line
	Timezone                      string // zone of times without a zone; default UTC
	Columns                       string // names of the columns of CSV without a header, separated by commas
}

// DefaultPattern is the pattern of a process without rules.
const DefaultPattern = "varve/{stream}/{device}"

// ClientName and UserName are the names with which rules refer to the client id and the user of a
// connection. Only messages of the listener have them.
const (
	ClientName = "client"
	UserName   = "user"
)

// Route is a compiled rule.
type Route struct {
	pattern                       *Pattern
	payload                       payload
	stream, device, tenant, field *template // nil if neither the rule nor the pattern gives the value
	timeAt, fieldsAt              []string
	format                        wire.TimeFormat
	columns                       wire.Columns
	required                      bool // if true, readings must have a time
}

// Pattern returns the pattern of the route.
func (r *Route) Pattern() *Pattern { return r.pattern }

// Compile checks the rule and returns its route. An error is a varve.Error that names the invalid field
// of the rule as parameter.
func (r Rule) Compile() (*Route, error) {
	r, err := r.withPreset()
	if err != nil {
		return nil, err
	}
	route := &Route{required: r.Time == "required"}
	if route.pattern, err = ParsePattern(r.Pattern); err != nil {
		return nil, varve.InvalidParam("pattern", "%s", err)
	}
	if r.Payload == "" {
		r.Payload = "json"
	}
	kind, ok := payloads[r.Payload]
	if !ok {
		return nil, varve.InvalidParam("payload", "%s is unknown: use %s", quote.Text(r.Payload), strings.Join(Payloads(), ", "))
	}
	route.payload = kind
	if r.Time != "" && r.Time != "arrival" && r.Time != "required" {
		return nil, varve.InvalidParam("time", "%s is unknown: use arrival or required", quote.Text(r.Time))
	}
	route.timeAt, route.fieldsAt = path(r.TimeAt), path(r.FieldsAt)
	if err := route.compileNames(&r); err != nil {
		return nil, err
	}
	return route, route.compileFormat(&r)
}

func path(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ".")
}

func (r *Route) compileNames(rule *Rule) error {
	known := append([]string{ClientName, UserName}, r.pattern.names...)
	for _, part := range []struct {
		name, text string
		to         **template
	}{{"stream", rule.Stream, &r.stream}, {"device", rule.Device, &r.device}, {"tenant", rule.Tenant, &r.tenant}, {"field", rule.Field, &r.field}} {
		text := part.text
		if text == "" && slices.Contains(r.pattern.names, part.name) {
			text = "{" + part.name + "}"
		}
		if text == "" {
			continue
		}
		t, err := parseTemplate(text, known)
		if err != nil {
			return varve.InvalidParam(part.name, "%s", err)
		}
		*part.to = &t
	}
	switch {
	case r.stream == nil && !r.payload.namesStream:
		return varve.InvalidParam("stream", "required: set it, or add {stream} to the pattern")
	case r.field == nil && r.payload.needsField:
		return varve.InvalidParam("field", "required: set it, or add {field} to the pattern")
	}
	return nil
}

var precisions = map[string]wire.Precision{
	"": 0, "s": wire.Seconds, "ms": wire.Milliseconds, "us": wire.Microseconds, "ns": wire.Nanoseconds,
}

func (r *Route) compileFormat(rule *Rule) error {
	precision, ok := precisions[rule.Precision]
	if !ok {
		return varve.InvalidParam("precision", "%s is unknown: use s, ms, us or ns", quote.Text(rule.Precision))
	}
	r.format.Precision = precision
	if rule.Precision == "" && r.payload.format == wire.Line {
		r.format.Precision = wire.Nanoseconds
	}
	if rule.Timezone != "" {
		zone, err := time.LoadLocation(rule.Timezone)
		if err != nil || rule.Timezone == "Local" {
			return varve.InvalidParam("timezone", "%s is unknown: use a name such as Europe/Berlin", quote.Text(rule.Timezone))
		}
		r.format.Location = zone
	}
	for name := range strings.SplitSeq(rule.Columns, ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.columns.Names = append(r.columns.Names, name)
		}
	}
	return nil
}

// Table has the routes of a process, in the order in which they are tried.
type Table []*Route

// Filters returns the topic filters of MQTT for subscriptions to all topics of the table.
func (t Table) Filters() []string {
	var all []string
	for _, r := range t {
		if f := r.pattern.Filter(); !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// Message is an MQTT message.
type Message struct {
	Topic        string
	Payload      []byte
	Client, User string // client id and user of the connection; empty for messages of a broker
	// At is the arrival of the message. It is the event time of readings without a time, so that a retry
	// with the same At stores the same readings.
	At time.Time
}

// Delivery is a message that was converted to a body of readings.
type Delivery struct {
	Format        wire.Format
	Body          []byte
	Defaults      wire.Defaults // the tenant is empty if neither the rule nor the topic names a tenant
	Columns       wire.Columns
	ArrivalIsTime bool // if true, the time of readings without a time is the arrival of the message
}

// Resolve converts a message to a body of readings. If no pattern matches its topic, the error is
// ErrUnmatched. Any other error is an *Unreadable.
func (t Table) Resolve(m *Message) (*Delivery, error) {
	for _, r := range t {
		if values, ok := r.pattern.match(m.Topic); ok {
			return r.deliver(m, values)
		}
	}
	return nil, ErrUnmatched
}

func (r *Route) deliver(m *Message, values []string) (*Delivery, error) {
	value := func(name string) string {
		if i := slices.Index(r.pattern.names, name); i >= 0 {
			return values[i]
		}
		if name == ClientName {
			return m.Client
		}
		return m.User
	}
	expand := func(t *template) string {
		if t == nil {
			return ""
		}
		return t.expand(value)
	}
	d := &Delivery{Format: r.payload.format, Body: m.Payload, Columns: r.columns, ArrivalIsTime: !r.required}
	d.Defaults = wire.Defaults{Tenant: expand(r.tenant), Stream: expand(r.stream), Device: expand(r.device), Time: r.format}
	if err := checkNames(&d.Defaults, r); err != nil {
		return nil, err
	}
	return d, r.payload.convert(r, d, expand(r.field))
}

func checkNames(d *wire.Defaults, r *Route) error {
	if r.tenant != nil {
		if err := varve.ValidateName("tenant", d.Tenant); err != nil {
			return unreadable(varve.CodeStreamInvalid, "%s", err)
		}
	}
	if r.stream != nil {
		if err := varve.ValidateName("stream", d.Stream); err != nil {
			return unreadable(varve.CodeStreamInvalid, "%s", err)
		}
	}
	if r.device != nil {
		if err := varve.ValidateDevice(d.Device); err != nil {
			return unreadable(varve.CodeDeviceInvalid, "%s", err)
		}
	}
	return nil
}
