package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestOpen_ServesDespiteInvalidStep opens an engine whose template cannot create tables. Readings of
// existing tables must be stored, and other readings must be rejected as retryable. The condition
// RotationFailing must be set until a run succeeds.
func TestOpen_ServesDespiteInvalidStep(t *testing.T) {
	t.Parallel()
	for _, e := range []dynamotest.Emulator{dynamotest.Local, dynamotest.Dynoxide} {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
			openAt := func() *engine.Engine {
				s, err := dynamo.Open(t.Context(), dynamo.Options{
					Client: dynamotest.Client(url), Registry: "t_registry", Now: func() time.Time { return now },
				})
				if err != nil {
					t.Fatal(err)
				}
				return open(t, engine.Options{Store: s, Parallel: 16, Now: func() time.Time { return now }})
			}
			first := openAt()
			if held := first.Conditions.List(); len(held) != 0 {
				t.Fatalf("at the start: %+v", held)
			}
			putTemplate(t, first, `{"billing":"provisioned","capacity":{"hot":{"read":0,"write":0},"warm":{"read":1,"write":1}}}`)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) // the tables of January must be created
			second := openAt()
			held := second.Conditions.List()
			if len(held) != 1 || held[0].Name != health.RotationFailing || !strings.Contains(held[0].Message, "capacity.hot") {
				t.Errorf("with a bad template: %+v", held)
			}
			if !second.Rotator.Health().Usable {
				t.Error("readings of this month can be taken, and health says otherwise")
			}
			if v := writeOne(t, second, now); v.Outcome != varve.Stored {
				t.Errorf("a reading of today: %s", v)
			}
			now = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
			if v := writeOne(t, second, now); v.Code != varve.CodeUnavailable {
				t.Errorf("a reading whose table cannot be made: %s, want it to be sent again", v)
			}
			putTemplate(t, second, `{}`)
			if _, err := second.Rotator.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if held := second.Conditions.List(); len(held) != 0 {
				t.Errorf("with a good template: %+v", held)
			}
			if v := writeOne(t, second, now); v.Outcome != varve.Stored {
				t.Errorf("a reading sent again: %s", v)
			}
		})
	}
}

func putTemplate(t *testing.T, e *engine.Engine, text string) {
	t.Helper()
	it := store.Item{Key: dynamo.TemplateKey(), Attrs: map[string]varve.Value{dynamo.TemplateAttr: varve.StringValue(text)}}
	if err := e.Store.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
}

func writeOne(t *testing.T, e *engine.Engine, at time.Time) varve.Verdict {
	t.Helper()
	req, err := e.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer req.Done()
	series := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}
	verdicts := make([]varve.Verdict, 1)
	readings := []varve.Reading{{Series: series, Time: at, Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}}}}
	if err := req.Write(t.Context(), readings, verdicts); err != nil {
		t.Fatal(err)
	}
	return verdicts[0]
}
