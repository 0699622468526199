package fleet

import (
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// Limits of an entry's texts, in bytes.
const (
	maxMessage       = 4 << 10
	maxLogAttributes = 8 << 10
)

// Log is an entry of the log of a device's states.
type Log struct {
	Tenant, Device string
	Time           time.Time
	// ID tells entries of one device and time apart: the client's own, or one of
	// the content, so that an entry sent again is the same entry.
	ID          varve.ID
	Arrived     time.Time
	State       string      // as in NORMAL or WARNING
	Message     string      // for people
	Operator    string      // who sees to the device; "": nobody
	EscalatedTo string      // the supervisor who was told; "": nobody
	Attributes  varve.Value // a JSON object, or no value
}

// Validate checks an entry, and gives it an id if it came without one.
func (l *Log) Validate(now time.Time) error {
	if err := varve.ValidateDevice(l.Device); err != nil {
		return varve.InvalidParam("device", "%s", err)
	}
	if err := checkState(l.State); err != nil {
		return err
	}
	switch {
	case l.Time.IsZero():
		return varve.InvalidParam("time", "it is missing: without the time, an entry sent again would be another entry")
	case l.Time.Unix() < 0:
		return varve.InvalidParam("time", "%s is before 1970", l.Time.UTC().Format(time.RFC3339Nano))
	case l.Time.Sub(now) > maxAhead:
		return varve.InvalidParam("time", "%s is more than %s ahead of the server's clock", l.Time.UTC().Format(time.RFC3339Nano), timefmt.FormatDuration(maxAhead))
	}
	if err := checkText("message", l.Message, maxMessage); err != nil {
		return err
	}
	for _, p := range []struct{ name, text string }{{"operator", l.Operator}, {"escalatedTo", l.EscalatedTo}} {
		if err := checkPerson(p.name, p.text); p.text != "" && err != nil {
			return err
		}
	}
	if err := checkObject("attributes", l.Attributes, maxLogAttributes); err != nil {
		return err
	}
	l.Time = l.Time.UTC()
	if l.ID.IsZero() {
		l.ID = l.contentID()
	}
	return nil
}

// maxAhead is how far ahead of the clock an entry may lie.
const maxAhead = 24 * time.Hour

func checkState(state string) error {
	if err := varve.ValidateName("state", state); err != nil {
		return varve.InvalidParam("state", "%s", err)
	}
	return nil
}

// checkPerson checks the name of an operator or supervisor, which is part of a
// key as a device's is.
func checkPerson(param, name string) error {
	if err := varve.ValidateDevice(name); err != nil {
		return varve.InvalidParam(param, "%s", strings.Replace(err.Error(), "device", param, 1))
	}
	return nil
}

// contentID is the id of readings, of an entry's content.
func (l *Log) contentID() varve.ID {
	r := varve.Reading{Fields: l.content()}
	return r.ContentID()
}

// content returns an entry's content as the fields of a reading, in the order of
// their names.
func (l *Log) content() (fields []varve.Field) {
	if !l.Attributes.IsZero() {
		fields = append(fields, varve.Field{Name: "attributes", Value: l.Attributes})
	}
	return append(fields,
		varve.Field{Name: "escalatedTo", Value: varve.StringValue(l.EscalatedTo)}, varve.Field{Name: "message", Value: varve.StringValue(l.Message)},
		varve.Field{Name: "operator", Value: varve.StringValue(l.Operator)}, varve.Field{Name: "state", Value: varve.StringValue(l.State)})
}

// repeat returns the verdict on an entry whose device, time and id are stored.
func (l *Log) repeat(stored *Log) varve.Verdict {
	if l.ID == l.contentID() {
		return varve.Verdict{Outcome: varve.Duplicate}
	}
	told := func(l *Log) *varve.Reading { // no text is as good as an absent one
		return &varve.Reading{ID: l.ID, Fields: slices.DeleteFunc(l.content(), func(f varve.Field) bool { return f.Value.Equal(varve.StringValue("")) })}
	}
	return store.Repeat(told(l), told(stored))
}

// An entry is two items, so that each of its lists is one ordered query: one in
// the order of time, over all states, and one in the order of time within its
// state. Each is in the index of the operator or supervisor by the same order.

const (
	logPrefix      = "LOG#"
	stateLogPrefix = "LOG_STATE#"
)

func (l *Log) place() string { return timeText(l.Time) + "#" + l.ID.String() }

func operatorPK(tenant, operator string) string { return "LOG_OPERATOR#" + tenant + "/" + operator }

func supervisorPK(tenant, supervisor string) string {
	return "LOG_SUPERVISOR#" + tenant + "/" + supervisor
}

func supervisorStatePK(tenant, state, supervisor string) string {
	return "LOG_SUPERVISOR_STATE#" + tenant + "/" + state + "#" + supervisor
}

// items returns the entry's two items; the first is to be written first, and is
// what says that the entry is there.
func (l *Log) items(expires time.Time) (byTime, byState store.Item) {
	attrs := map[string]varve.Value{"arrived": timeValue(l.Arrived), "state": varve.StringValue(l.State)}
	put(attrs, "message", l.Message)
	put(attrs, "operator", l.Operator)
	put(attrs, "escalatedTo", l.EscalatedTo)
	if !l.Attributes.IsZero() {
		attrs["attributes"] = l.Attributes
	}
	pk, at := devicePK(l.Tenant, l.Device), l.place()
	byTime = store.Item{Key: store.Key{PK: pk, SK: logPrefix + at}, Expires: expires, Attrs: attrs}
	byState = store.Item{Key: store.Key{PK: pk, SK: stateLogPrefix + l.State + "#" + at}, Expires: expires, Attrs: attrs}
	if l.Operator != "" {
		byTime.GSI1 = store.Key{PK: operatorPK(l.Tenant, l.Operator), SK: at}
	}
	if l.EscalatedTo != "" {
		byTime.GSI2 = store.Key{PK: supervisorPK(l.Tenant, l.EscalatedTo), SK: at}
		byState.GSI2 = store.Key{PK: supervisorStatePK(l.Tenant, l.State, l.EscalatedTo), SK: at}
	}
	return byTime, byState
}

// logOf reads either of the items.
func logOf(tenant string, it *store.Item) (Log, error) {
	a := attrs{it: it}
	l := Log{
		Tenant: tenant, Device: strings.TrimPrefix(it.PK, devicePK(tenant, "")),
		Arrived: a.time("arrived"), State: a.text("state"), Message: a.text("message"),
		Operator: a.text("operator"), EscalatedTo: a.text("escalatedTo"), Attributes: it.Attrs["attributes"],
	}
	at := strings.TrimPrefix(strings.TrimPrefix(it.SK, logPrefix), stateLogPrefix+l.State+"#")
	text, id, _ := strings.Cut(at, "#")
	var err error
	if a.err == nil {
		l.Time, a.err = time.Parse(keyTime, text)
	}
	if l.ID, err = varve.ParseID(id); a.err == nil {
		a.err = err
	}
	return l, a.err
}
