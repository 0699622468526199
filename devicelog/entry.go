package devicelog

import (
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// Limits of an entry's texts, in bytes.
const (
	maxMessage       = 4 << 10
	maxLogAttributes = 8 << 10
)

// Entry is an entry in the log of a device's states.
type Entry struct {
	Tenant, Device string
	Time           time.Time
	// ID separates entries of one device and time. It is chosen by the client, or else computed
	// from the content. So a resent entry has the same id.
	ID          varve.ID
	Arrived     time.Time
	State       string      // such as NORMAL or WARNING
	Message     string      // text for people
	Operator    string      // if set, the person in charge of the device
	EscalatedTo string      // if set, the supervisor who was informed
	Attributes  varve.Value // a JSON object, or the zero Value
}

// Validate checks an entry, and converts its time to UTC. If the entry has no id, Validate sets the id
// that is computed from its content. For an invalid entry, Validate fails with Invalid.
func (e *Entry) Validate(now time.Time) error {
	if err := varve.ValidateNewDevice(e.Device); err != nil {
		return varve.InvalidParam("device", "%s", err)
	}
	if err := checkState(e.State); err != nil {
		return err
	}
	switch {
	case e.Time.IsZero():
		return varve.InvalidParam("time", "missing: send a time, which makes a resent entry the same entry")
	case e.Time.Unix() < 0:
		return varve.InvalidParam("time", "%s is before 1970", e.Time.UTC().Format(time.RFC3339Nano))
	case e.Time.Sub(now) > maxAhead:
		return varve.InvalidParam("time", "%s is more than %s ahead of the server's clock", e.Time.UTC().Format(time.RFC3339Nano), timefmt.FormatDuration(maxAhead))
	}
	if err := param.CheckText("message", e.Message, maxMessage); err != nil {
		return err
	}
	for _, p := range []struct{ name, text string }{{"operator", e.Operator}, {"escalated_to", e.EscalatedTo}} {
		if err := checkPerson(p.name, p.text, varve.ValidateNewDevice); p.text != "" && err != nil {
			return err
		}
	}
	if err := param.CheckObject("attributes", e.Attributes, maxLogAttributes); err != nil {
		return err
	}
	e.Time = e.Time.UTC()
	if e.ID.IsZero() {
		e.ID = e.contentID()
	}
	return nil
}

// maxAhead is the maximum time by which an entry may be ahead of the clock.
const maxAhead = 24 * time.Hour

func checkState(state string) error {
	if err := varve.ValidateName("state", state); err != nil {
		return varve.InvalidParam("state", "%s", err)
	}
	return nil
}

// checkPerson checks the name of an operator or supervisor. The name is part of a key, and follows
// the rules for names of devices, which the function "validate" checks.
func checkPerson(param, name string, validate func(string) error) error {
	if err := validate(name); err != nil {
		return varve.InvalidParam(param, "%s", strings.Replace(err.Error(), "device", param, 1))
	}
	return nil
}

// contentID returns the content id of a reading with the entry's content.
func (e *Entry) contentID() varve.ID {
	r := varve.Reading{Fields: e.content()}
	return r.ContentID()
}

// content returns an entry's content as the fields of a reading, in the order of
// their names.
func (e *Entry) content() (fields []varve.Field) {
	if !e.Attributes.IsZero() {
		fields = append(fields, varve.Field{Name: "attributes", Value: e.Attributes})
	}
	return append(fields,
		varve.Field{Name: "escalatedTo", Value: varve.StringValue(e.EscalatedTo)}, varve.Field{Name: "message", Value: varve.StringValue(e.Message)},
		varve.Field{Name: "operator", Value: varve.StringValue(e.Operator)}, varve.Field{Name: "state", Value: varve.StringValue(e.State)})
}

// repeat returns the verdict on e, given the stored entry with the same device, time and id.
func (e *Entry) repeat(stored *Entry) varve.Verdict {
	if e.ID == e.contentID() {
		return varve.Verdict{Outcome: varve.Duplicate}
	}
	reading := func(e *Entry) *varve.Reading { // omits empty texts from the message about a conflict
		return &varve.Reading{ID: e.ID, Fields: slices.DeleteFunc(e.content(), func(f varve.Field) bool { return f.Value.Equal(varve.StringValue("")) })}
	}
	return store.Repeat(reading(e), reading(stored))
}

// An entry is stored as two items in the partition of its device. The keys of the first items sort
// all entries of the device by time. The keys of the second items sort the entries of one state by
// time. If an entry has an Operator, its first item is also in the index of that operator. If it
// has EscalatedTo, both items are in indexes of that supervisor. Indexes are sorted by time.

const (
	logPrefix      = "LOG#"
	stateLogPrefix = "LOG_STATE#"
)

func (e *Entry) place() string { return registry.TimeText(e.Time) + "#" + e.ID.String() }

func operatorPK(tenant, operator string) string { return "LOG_OPERATOR#" + tenant + "/" + operator }

func supervisorPK(tenant, supervisor string) string {
	return "LOG_SUPERVISOR#" + tenant + "/" + supervisor
}

func supervisorStatePK(tenant, state, supervisor string) string {
	return "LOG_SUPERVISOR_STATE#" + tenant + "/" + state + "#" + supervisor
}

// items returns the two items of an entry. An entry exists if its item by time exists, so that
// item is written first.
func (e *Entry) items(expires time.Time) (byTime, byState store.Item) {
	attrs := map[string]varve.Value{"arrived": registry.TimeValue(e.Arrived), "state": varve.StringValue(e.State)}
	registry.PutText(attrs, "message", e.Message)
	registry.PutText(attrs, "operator", e.Operator)
	registry.PutText(attrs, "escalatedTo", e.EscalatedTo)
	registry.PutValue(attrs, "attributes", e.Attributes)
	pk, at := registry.DevicePK(e.Tenant, e.Device), e.place()
	byTime = store.Item{Key: store.Key{PK: pk, SK: logPrefix + at}, Expires: expires, Attrs: attrs}
	byState = store.Item{Key: store.Key{PK: pk, SK: stateLogPrefix + e.State + "#" + at}, Expires: expires, Attrs: attrs}
	if e.Operator != "" {
		byTime.GSI1 = store.Key{PK: operatorPK(e.Tenant, e.Operator), SK: at}
	}
	if e.EscalatedTo != "" {
		byTime.GSI2 = store.Key{PK: supervisorPK(e.Tenant, e.EscalatedTo), SK: at}
		byState.GSI2 = store.Key{PK: supervisorStatePK(e.Tenant, e.State, e.EscalatedTo), SK: at}
	}
	return byTime, byState
}

// entryOf decodes the entry from one of its two items.
func entryOf(tenant string, it *store.Item) (Entry, error) {
	a := registry.NewReader(it)
	e := Entry{
		Tenant: tenant, Device: strings.TrimPrefix(it.PK, registry.DevicePK(tenant, "")),
		Arrived: a.Time("arrived"), State: a.Text("state"), Message: a.Text("message"),
		Operator: a.Text("operator"), EscalatedTo: a.Text("escalatedTo"), Attributes: it.Attrs["attributes"],
	}
	at := strings.TrimPrefix(strings.TrimPrefix(it.SK, logPrefix), stateLogPrefix+e.State+"#")
	text, id, _ := strings.Cut(at, "#")
	var err error
	if e.Time, err = registry.ParseTime(text); err != nil {
		a.Fail("time", err)
	}
	if e.ID, err = varve.ParseID(id); err != nil {
		a.Fail("id", err)
	}
	return e, a.Err()
}
