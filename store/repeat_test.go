package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store"
)

// sample returns a normalized reading. The argument "fields" is a JSON object.
func sample(t *testing.T, id, fields string) varve.Reading {
	t.Helper()
	r := varve.Reading{Series: varve.Series{Tenant: "acme", Stream: "weather", Device: "a"}, Time: time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)}
	if id != "" {
		parsed, err := varve.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		r.ID = parsed
	}
	dec := json.NewDecoder(strings.NewReader(fields))
	dec.UseNumber()
	members := map[string]any{}
	if err := dec.Decode(&members); err != nil {
		t.Fatal(err)
	}
	for name, member := range members {
		f := varve.Field{Name: name}
		switch m := member.(type) {
		case json.Number:
			n, err := decimal.Parse(m.String())
			if err != nil {
				t.Fatal(err)
			}
			f.Value = varve.NumberValue(n)
		case string:
			f.Value = varve.StringValue(m)
		case bool:
			f.Value = varve.BoolValue(m)
		default:
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if f.Value, err = varve.JSONValue(text); err != nil {
				t.Fatal(err)
			}
		}
		r.Fields = append(r.Fields, f)
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		t.Fatal(v)
	}
	return r
}

func TestRepeat_ComparesReadingsWithOwnIDs(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct {
		why, id, stored, sent string
		want                  string // text of the verdict
	}{
		{"a retry", "m1", `{"v":999}`, `{"v":999}`, `duplicate`},
		{"other decimals are the same number", "m1", `{"v":1.5,"w":20}`, `{"v":1.50,"w":2e1}`, `duplicate`},
		{"JSON in another order is the same", "m1", `{"at":{"x":1,"y":2}}`, `{"at":{"y":2,"x":1}}`, `duplicate`},
		{"another number", "m1", `{"v":999}`, `{"v":20}`,
			`rejected(conflict: id "m1" is stored with {"v":999} and was sent with {"v":20}: send another id)`},
		{"another kind", "m1", `{"v":20}`, `{"v":"20"}`,
			`rejected(conflict: id "m1" is stored with {"v":20} and was sent with {"v":"20"}: send another id)`},
		{"a field more", "m 2", `{"v":1}`, `{"v":1,"w":true}`,
			`rejected(conflict: id "m 2" is stored with {"v":1} and was sent with {"v":1,"w":true}: send another id)`},
		{"a field less", "m1", `{"v":1,"w":{"b":"é\n"}}`, `{"v":1}`,
			`rejected(conflict: id "m1" is stored with {"v":1,"w":{"b":"é\n"}} and was sent with {"v":1}: send another id)`},
		{"of many fields, those that differ", "m1", `{"a":"` + long + `","v":999}`, `{"a":"` + long + `","v":20}`,
			`rejected(conflict: id "m1" is stored with {"v":999,…} and was sent with {"v":20,…}: send another id)`},
		{"a long value is cut", "m1", `{"v":"é` + long + `"}`, `{"v":2}`,
			`rejected(conflict: id "m1" is stored with {"v":"é` + strings.Repeat("x", 53) + `…} and was sent with {"v":2}: send another id)`},
		{"a hash that is not that of the content", "4y6yUsFpIf5", `{"humidity":45,"temperature":22.40}`, `{"v":1}`,
			`rejected(conflict: id "4y6yUsFpIf5" is stored with {"humidity":45,"temperature":22.40} and was sent with {"v":1}: send another id)`},
	}
	for _, tt := range tests {
		stored, sent := sample(t, tt.id, tt.stored), sample(t, tt.id, tt.sent)
		if got := store.Repeat(&sent, &stored).String(); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.why, got, tt.want)
		}
	}
}

// TestRepeat_TreatsContentIDsAsDuplicates checks two readings with different fields and the same
// content id. The client did not choose the id, so the verdict must be duplicate.
func TestRepeat_TreatsContentIDsAsDuplicates(t *testing.T) {
	sent := sample(t, "", `{"v":20}`)
	stored := sample(t, "m1", `{"v":999}`)
	stored.ID = sent.ID
	if got := store.Repeat(&sent, &stored); got.Outcome != varve.Duplicate {
		t.Errorf("got %s, want duplicate", got)
	}
}

func TestRepeat_ReturnsStoredValuesUpToALimit(t *testing.T) {
	sent := sample(t, "m1", `{"v":20}`)
	stored := sample(t, "m1", `{"n":12345678901234567890123456789012345678,"s":"<&>","u":22.40}`)
	if got, want := store.Repeat(&sent, &stored).Stored, `{"n":12345678901234567890123456789012345678,"s":"<&>","u":22.40}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	stored = sample(t, "m1", `{"s":"`+strings.Repeat("x", 1024)+`"}`)
	if got := store.Repeat(&sent, &stored).Stored; got != "" {
		t.Errorf("%d bytes, want none: too long", len(got))
	}
}

func TestRepeat_KeepsMessagesShort(t *testing.T) {
	gen := rapid.MapOfN(rapid.StringMatching(`[a-zé]{1,60}`), rapid.String(), 1, 40)
	rapid.Check(t, func(rt *rapid.T) {
		reading := func(label string) varve.Reading {
			r := sample(t, "m1", `{"v":1}`)
			r.Fields = nil
			for name, text := range gen.Draw(rt, label) {
				r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.StringValue(strings.ToValidUTF8(text, ""))})
			}
			if v := r.Normalize(); v.Outcome == varve.Rejected {
				rt.Skip(v.String())
			}
			return r
		}
		sent, stored := reading("sent"), reading("stored")
		v := store.Repeat(&sent, &stored)
		if same := sent.SameFields(&stored); same != (v.Outcome == varve.Duplicate) {
			rt.Fatalf("the same fields: %t, and %s", same, v)
		}
		if len(v.Message) > 700 || len(v.Stored) > 1024 || !utf8.ValidString(v.Message) {
			rt.Fatalf("%d bytes: %q", len(v.Message), v.Message)
		}
		if v.Stored != "" && !json.Valid([]byte(v.Stored)) {
			rt.Fatalf("not JSON: %s", v.Stored)
		}
	})
}
