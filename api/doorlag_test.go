package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/ingest/records"
)

// TestDoors_HaveOneVocabulary sends a reading with a lag of almost an hour through each door, twice, and then
// an invalid reading. Each door must count the received readings, the outcomes, and the lag of the stored
// reading.
func TestDoors_HaveOneVocabulary(t *testing.T) {
	s := newAWSServer(t)
	ctx := t.Context()
	store := func(r *records.Receiver, text string) {
		target, err := records.ParseTarget(varve.DefaultTenant, url.Values{"stream": {"weather"}, "format": {"ndjson"}})
		if err == nil {
			_, err = r.Store(ctx, apikeys.Everything(), target, []records.Record{{Data: []byte(text), From: "r"}})
		}
		if err != nil {
			t.Error(err)
		}
	}
	doors := map[string]func(text string){
		"http":     func(text string) { s.send(http.MethodPost, "/v1/streams/weather/readings", text) },
		"firehose": func(text string) { s.firehose("?stream=weather&format=ndjson", firehoseBody(text)) },
		"iot":      func(text string) { s.send(http.MethodPost, "/v1/aws/iot/weather?format=ndjson", text) },
		"kinesis":  func(text string) { store(s.api.NewKinesisReceiver(), text) },
		"sqs":      func(text string) { store(s.api.NewSQSReceiver(), text) },
		"mqtt": func(text string) {
			session, err := s.api.NewMQTTIngester().Begin(apikeys.Everything())
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			d := wire.Defaults{Tenant: varve.DefaultTenant, Stream: "weather"}
			if err := session.Read(ctx, &ingest.Source{Format: wire.NDJSON, Body: strings.NewReader(text), Defaults: d}); err != nil {
				t.Error(err)
			}
		},
		"influx": func(text string) {
			var lines []string
			for i := range strings.Count(text, "\n") {
				lines = append(lines, strings.Replace(point(1), "d1", "influx", 1))
				if i == 2 {
					lines[i] = "weather a=1"
				}
			}
			s.send(http.MethodPost, "/write?db=x", strings.Join(lines, "\n"))
		},
	}
	for name, send := range doors {
		good := strings.Replace(reading(1), "d1", name, 1) + "\n"
		send(good + good + "{}\n")
	}
	metrics := s.get("/metrics").body
	for name := range doors {
		for _, line := range []string{
			`readings_received_total{door="%s"} 3`, `readings_total{door="%s",outcome="stored"} 1`, `readings_total{door="%s",outcome="duplicate"} 1`,
			`readings_total{door="%s",outcome="rejected"} 1`, `lag_seconds_count{door="%s"} 1`,
			`lag_seconds_bucket{door="%s",le="600"} 0`, `lag_seconds_bucket{door="%s",le="3600"} 1`, `lag_seconds_bucket{door="%s",le="+Inf"} 1`,
		} {
			if line = "varve_door_" + fmt.Sprintf(line, name); !strings.Contains(metrics, line+"\n") {
				t.Errorf("the metrics lack %s", line)
			}
		}
		if !strings.Contains(metrics, fmt.Sprintf(`varve_door_lag_seconds_sum{door="%s"} 3599.99`, name)) {
			t.Errorf("the sum of the lags of %s is not 3599.99…", name)
		}
	}
}

// TestDoors_CountReadingsThatAreNotStored checks that readings count as received while the store fails, and
// that only stored readings have a lag.
func TestDoors_CountReadingsThatAreNotStored(t *testing.T) {
	s := newServer(t, nil)
	s.store.set(&s.store.write, func(grid.Table) error { return errDisk })
	s.send(http.MethodPost, "/v1/streams/weather/readings", reading(1)+"\n"+reading(2))
	metrics := s.get("/metrics").body
	if want := `varve_door_readings_received_total{door="http"} 2`; !strings.Contains(metrics, want+"\n") {
		t.Errorf("the metrics lack %s", want)
	}
	if strings.Contains(metrics, "varve_door_lag_seconds_count") {
		t.Error("a reading that is not stored has a lag")
	}
}
