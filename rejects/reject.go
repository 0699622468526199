package rejects

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// MaxText is the maximum length of a stored text, in bytes. A longer text is cut.
const MaxText = 8 << 10

// maxMessage and maxFrom are the maximum lengths of Reject.Message and Reject.From, in bytes.
const (
	maxMessage = 1 << 10
	maxFrom    = 256
)

// Reject is a rejected reading, or a message that could not be read at all.
type Reject struct {
	// ID is computed from the content. The Registry sets it.
	ID     string
	Tenant string
	Stream string // "" if the name was invalid or is unknown
	Device string // "" if the name was invalid or is unknown
	Door   string // protocol through which the reading arrived, such as http
	From   string // id of the API key, or topic of the message; "" if unknown
	// First and Last are the first and the last arrival, and Times is their number.
	First, Last time.Time
	Times       int64
	Time        time.Time // event time; zero if it is unreadable, too old, or before 1970
	Code        varve.Code
	Message     string
	Format      string // name of the format of Text; "" if Text is an unreadable message
	Header      string // first row of the CSV body to which Text belongs
	Options     string // parameters of the write that sent the reading, as the query of a URL
	Text        string
	Cut         bool // whether Text, Header or Options was too long, so that only its beginning is stored

	buffered int // bytes that the buffer counts for the reject
}

// Replayable reports whether the reject can be replayed: see Obstacle.
func (r *Reject) Replayable() bool { return r.Obstacle() == varve.Verdict{} }

// Obstacle returns the reason for which the reject cannot be replayed, or the zero verdict.
func (r *Reject) Obstacle() varve.Verdict {
	switch {
	case r.Cut:
		return varve.Reject(varve.CodeTooLarge, "only the beginning of the text is stored: resend the reading")
	case r.Format == "" || r.Text == "":
		return varve.Reject(varve.CodeMalformed, "the message was unreadable as a whole: resend the reading")
	case r.Stream == "":
		return varve.Reject(varve.CodeStreamInvalid, "the stream was invalid or unknown: resend the reading")
	}
	return varve.Verdict{}
}

// prepare sets the id, clears invalid names of streams and devices, and limits the texts. It also sets
// the number and the time of the arrivals if they are missing.
func (r *Reject) prepare() {
	h := sha256.New()
	parts := []string{r.Tenant, r.Stream, r.Format, r.Header, r.Options, string(r.Code), r.Text}
	if r.Door == "mqtt" && r.Format == "" {
		parts = append(parts, r.From) // devices may send the same unreadable payload to many topics
	}
	for _, part := range parts {
		// A hash.Hash never returns an error.
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	r.ID = hex.EncodeToString(h.Sum(nil)[:idBytes])
	if varve.ValidateName("stream", r.Stream) != nil {
		r.Stream = ""
	}
	if varve.ValidateDevice(r.Device) != nil {
		r.Device = ""
	}
	if len(r.Text) > MaxText || len(r.Header) > MaxText || len(r.Options) > MaxText {
		r.Text, r.Header, r.Options, r.Cut = cut(r.Text, MaxText), cut(r.Header, MaxText), cut(r.Options, MaxText), true
	}
	r.Message, r.From = strings.ToValidUTF8(cut(r.Message, maxMessage), "?"), strings.ToValidUTF8(cut(r.From, maxFrom), "?")
	r.Times = max(r.Times, 1)
	if r.Last.IsZero() {
		r.Last = r.First
	}
}

// idBytes is the length of the hash in an id.
const idBytes = 12

// cut returns a text. If the text is longer than the argument "most", cut returns a copy of its first
// bytes.
func cut(text string, most int) string {
	if len(text) > most {
		return strings.Clone(text[:most])
	}
	return text
}

func (r *Reject) size() int {
	return 512 + len(r.Text) + len(r.Header) + len(r.Options) + len(r.Message) + len(r.From)
}

// merge adds the arrivals of another reject with the same id. It uses the door, the sender and the
// message of the later arrival.
func (r *Reject) merge(o *Reject) {
	if o.First.Before(r.First) {
		r.First = o.First
	}
	if !o.Last.Before(r.Last) {
		r.Last, r.Door, r.From, r.Message = o.Last, o.Door, o.From, o.Message
	}
	r.Times += o.Times
}

// The items of a tenant's rejects are in one partition, sorted by id. The first index sorts them by
// last arrival. The second index sorts the rejects of each stream by last arrival.

func tenantPK(tenant string) string { return "REJECT#" + tenant }

func streamPK(tenant, stream string) string { return "REJECT#" + tenant + "/" + stream }

func keyOf(tenant, id string) store.Key { return store.Key{PK: tenantPK(tenant), SK: id} }

func (r *Reject) key() store.Key { return keyOf(r.Tenant, r.ID) }

// place returns the sort key of the reject in both indexes.
func (r *Reject) place() string { return registry.TimeText(r.Last) + "#" + r.ID }

// item returns the reject as an item. The item expires when the given lifetime has passed since the last
// arrival.
func (r *Reject) item(life time.Duration) store.Item {
	attrs := map[string]varve.Value{
		"first": registry.TimeValue(r.First), "last": registry.TimeValue(r.Last), "times": varve.IntValue(r.Times),
		"cut": varve.BoolValue(r.Cut),
	}
	registry.PutTime(attrs, "time", r.Time)
	for name, text := range map[string]string{
		"stream": r.Stream, "device": r.Device, "door": r.Door, "from": r.From, "code": string(r.Code),
		"message": r.Message, "format": r.Format, "options": r.Options,
	} {
		registry.PutText(attrs, name, text)
	}
	for name, text := range map[string]string{"text": r.Text, "header": r.Header} {
		if !utf8.ValidString(text) {
			name, text = name+"64", base64.StdEncoding.EncodeToString([]byte(text))
		}
		registry.PutText(attrs, name, text)
	}
	return store.Item{
		Key: r.key(), GSI1: store.Key{PK: tenantPK(r.Tenant), SK: r.place()}, GSI2: store.Key{PK: streamPK(r.Tenant, r.Stream), SK: r.place()},
		Expires: r.Last.Add(life).Truncate(time.Second), Attrs: attrs,
	}
}

func rejectOf(it *store.Item) (Reject, error) {
	a := registry.NewReader(it)
	r := Reject{
		ID: it.SK, Tenant: strings.TrimPrefix(it.PK, tenantPK("")), Stream: a.Text("stream"), Device: a.Text("device"),
		Door: a.Text("door"), From: a.Text("from"), First: a.Time("first"), Last: a.Time("last"), Time: a.Time("time"),
		Times: registry.Int(it.Attrs["times"]), Code: varve.Code(a.Text("code")), Message: a.Text("message"),
		Format: a.Text("format"), Options: a.Text("options"), Text: a.Text("text"), Header: a.Text("header"),
		Cut: it.Attrs["cut"].Bool(),
	}
	for name, into := range map[string]*string{"text64": &r.Text, "header64": &r.Header} {
		if text := a.Text(name); text != "" {
			plain, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				a.Fail(name, err)
			}
			*into = string(plain)
		}
	}
	return r, a.Err()
}
