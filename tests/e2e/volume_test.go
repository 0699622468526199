package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

const (
	volumeDevices = 40
	volumeWriters = 4
)

// volume is a store with its usual settings that receives more readings than memtables have room for.
// Each reading is a function of its device and number.
type volume struct {
	base time.Time
	each int // readings of each device
}

// TestVolume_KeepsValues writes readings of very different sizes from several connections, some of them
// weeks late, and compares each value. It does so while readings are in memory, and after a kill. Tests
// with small memtables and chunks cannot find mistakes that need the usual sizes.
func TestVolume_KeepsValues(t *testing.T) {
	v := volume{base: time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Second), each: 2500} // about 140 MB of values
	if testing.Short() {
		v.each = 250
	}
	dir := t.TempDir()
	s := start(t, dir)
	var writers sync.WaitGroup
	for w := range volumeWriters {
		writers.Go(func() {
			if err := v.write(t, s, w); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	v.check(t, s)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	v.check(t, start(t, dir))
}

// at returns the event time of a reading. Devices with an odd number are late, by up to 26 days.
func (v volume) at(device, i int) time.Time {
	if device%2 == 1 {
		return v.base.Add(-time.Duration(i) * 15 * time.Minute)
	}
	return v.base.Add(time.Duration(i) * time.Second)
}

// fields returns the fields and the id of a reading. Most texts are short, and few are long.
func (v volume) fields(device, i int) (fields map[string]string, id string) {
	rng := rand.New(rand.NewPCG(uint64(device), uint64(i)))
	length := rng.IntN(60)
	switch n := rng.IntN(100); {
	case n < 2:
		length = 8000 + rng.IntN(20_000)
	case n < 50:
		length = 200 + rng.IntN(2000)
	}
	own := fmt.Sprintf("%d/%d/", device, i)
	fields = map[string]string{
		"text":                          strconv.Quote(own + strings.Repeat(string(rune('a'+rng.IntN(26))), length)),
		"value":                         fmt.Sprintf("%d.%d", rng.IntN(1000)-500, 1+2*rng.IntN(5)),
		fmt.Sprintf("extra%d", i/100%4): strconv.Itoa(i),
	}
	if rng.IntN(3) == 0 {
		id = own + "id"
	}
	return fields, id
}

// write sends the readings of a quarter of the devices. A request has up to 200 readings of one device.
func (v volume) write(t *testing.T, s *varvetest.Server, writer int) error {
	rng := rand.New(rand.NewPCG(uint64(writer), 1))
	next := make([]int, volumeDevices)
	for left := volumeDevices / volumeWriters; left > 0; {
		device := writer + volumeWriters*rng.IntN(volumeDevices/volumeWriters)
		if next[device] == v.each {
			continue
		}
		n := min(1+rng.IntN(200), v.each-next[device])
		var body bytes.Buffer
		for i := next[device]; i < next[device]+n; i++ {
			fields, id := v.fields(device, i)
			fmt.Fprintf(&body, `{"device":"d%d","time":%d,"fields":{`, device, v.at(device, i).UnixMilli())
			separator := ""
			for name, text := range fields {
				fmt.Fprintf(&body, `%s%q:%s`, separator, name, text)
				separator = ","
			}
			body.WriteString("}")
			if id != "" {
				fmt.Fprintf(&body, `,"id":%q`, id)
			}
			body.WriteString("}\n")
		}
		if err := v.post(t, s, &body, n); err != nil {
			return err
		}
		if next[device] += n; next[device] == v.each {
			left--
		}
	}
	return nil
}

// post sends n readings. The server must store all of them.
func (v volume) post(t *testing.T, s *varvetest.Server, body io.Reader, n int) error {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/streams/volume/readings", body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	status, text, err := do(req)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf(`"stored":%d`, n); status != http.StatusOK || !strings.Contains(text, want) {
		return fmt.Errorf("write: %d: %.300s: want %s", status, text, want)
	}
	return nil
}

func (v volume) check(t *testing.T, s *varvetest.Server) {
	t.Helper()
	for device := range volumeDevices {
		if err := v.checkDevice(t, s, device); err != nil {
			t.Fatalf("device d%d: %v", device, err)
		}
	}
}

func (v volume) checkDevice(t *testing.T, s *varvetest.Server, device int) (err error) {
	order := "asc"
	if device%2 == 1 {
		order = "desc" // the readings of a late device were numbered backward
	}
	url := fmt.Sprintf("%s/v1/streams/volume/devices/d%d/readings?format=ndjson&limit=10000&order=%s&from=%d&to=%d",
		s.URL, device, order, v.base.AddDate(0, -2, 0).UnixMilli(), v.base.AddDate(0, 0, 1).UnixMilli())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	lines := json.NewDecoder(resp.Body)
	for i := range v.each {
		var got struct {
			Time   time.Time
			ID     string
			Fields map[string]json.RawMessage
		}
		if err := lines.Decode(&got); err != nil {
			return fmt.Errorf("reading %d of %d: %w", i, v.each, err)
		}
		fields, id := v.fields(device, i)
		if !got.Time.Equal(v.at(device, i)) || id != "" && got.ID != id || len(got.Fields) != len(fields) {
			return fmt.Errorf("reading %d is at %s with the id %q and %d fields", i, got.Time, got.ID, len(got.Fields))
		}
		for name, want := range fields {
			if text := string(got.Fields[name]); text != want {
				return fmt.Errorf("reading %d, %s: %.40s, want %.40s", i, name, text, want)
			}
		}
	}
	return nil
}
