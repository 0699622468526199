package wire_test

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// TestFormatParams_RoundTrips checks that ParseParams restores all options that FormatParams wrote. A
// replay reads the options of a reject in this way.
func TestFormatParams_RoundTrips(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	type options struct {
		d       wire.Defaults
		c       wire.Columns
		arrival bool
	}
	for _, o := range []options{
		{},
		{d: wire.Defaults{Device: "a b;c=d", Flat: true, Time: wire.TimeFormat{Precision: wire.Seconds, Location: berlin, Choice: wire.LaterLocal}}, arrival: true},
		{d: wire.Defaults{Time: wire.TimeFormat{Precision: wire.LineAuto, Choice: wire.EarlierLocal}}},
		{d: wire.Defaults{Time: wire.TimeFormat{Precision: 3600 * wire.Seconds}}},
		{d: wire.Defaults{Time: wire.TimeFormat{Precision: wire.Nanoseconds}}},
		{c: wire.Columns{
			Names: []string{"t", "d", "id", "x&y"}, Time: "t", Device: "d", ID: "id", Delimiter: ';', Decimal: ',', SkipBadCells: true, Nulls: []string{"NaN", "-"},
			Kinds: map[string]varve.Kind{"x&y": varve.KindJSON, "a": varve.KindBool, "b": varve.KindNumber, "c": varve.KindString},
		}},
		{c: wire.Columns{Name: "m", Value: "v", Delimiter: '\t'}},
		{c: wire.Columns{DeviceColumns: "temperature"}},
	} {
		text := wire.FormatParams(&o.d, &o.c, o.arrival).Encode()
		q, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		var got options
		if got.c, got.arrival, err = wire.ParseParams(q, &got.d); err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", text, err, got, o)
		}
	}
}

func TestParseColumns_LimitsNulls(t *testing.T) {
	for n, want := range map[int]string{100: "", 101: "query.null: lists 101 texts: use at most 100"} {
		c, err := wire.ParseColumns(url.Values{"null": {strings.TrimSuffix(repeat("-,", n), ",")}})
		if got := fmt.Sprint(err); want == "" && (err != nil || len(c.Nulls) != n) || want != "" && got != want {
			t.Errorf("%d texts: %s, want %q", n, got, want)
		}
	}
}
