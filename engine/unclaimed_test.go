package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store/mem"
)

// TestOpen_ReportsUnclaimedTables checks the report of an engine that opens under another prefix
// or without a former class. Tables of known classes must not be reported.
func TestOpen_ReportsUnclaimedTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared{mem.New(nil)}
		var told []string
		reopen := func(prefix string, classes ...string) *engine.Engine {
			p := &retention.Policy{Prefix: prefix}
			for _, name := range append(classes, retention.DefaultClass) {
				p.Classes = append(p.Classes, retention.Class{Name: name, Retention: engine.DefaultRetention})
			}
			told = nil
			return open(t, engine.Options{Store: s, Rotation: rotation(func(r *rotator.Policy) { r.Retention = p }), Events: engine.Events{
				Unclaimed: func(prefix string, tables int, readings int64) {
					told = append(told, fmt.Sprintf("%s %v %d", prefix, tables > 10, readings))
				},
			}})
		}
		expect := func(want ...string) {
			t.Helper()
			if strings.Join(told, ",") != strings.Join(want, ",") {
				t.Errorf("told %v, want %v", told, want)
			}
		}
		e := reopen("first", "debug")
		expect()
		req, err := e.Router.Admit()
		if err != nil {
			t.Fatal(err)
		}
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}, Time: e.Now(),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
		}
		verdicts := make([]varve.Verdict, 1)
		if err := req.Write(t.Context(), []varve.Reading{r}, verdicts); err != nil || verdicts[0].Outcome != varve.Stored {
			t.Fatalf("%v %s", err, verdicts[0])
		}
		req.Done()
		reopen("first", "debug")
		expect()
		reopen("first")
		expect("first-debug true 0")
		reopen("second")
		expect("first true 1", "first-debug true 0")
		// A nil callback is skipped.
		open(t, engine.Options{Store: s})
	})
}
