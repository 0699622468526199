package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// largeBody is a form of bodies that the agent gets in TestLimits_MemoryOfLargeBodies.
type largeBody struct {
	name, path, media string
	before, row       string // the row is formatted with the device, the time in seconds and a value
	between, after    string
	gzip              bool
	status            int
}

const (
	readingsPath = "/v1/streams/flood/readings"
	objectRow    = `{"device":"%s","time":%d000,"fields":{"temperature":%d.5,"humidity":50,"battery":3.1}}`
	flatRow      = `{"device":"%s","time":%d000,"temperature":%d.5,"humidity":50,"battery":3.1}`
	lineRow      = "flood,device=%s time=%d000,temperature=%d.5,humidity=50\n"
)

var goodBodies = []largeBody{
	{name: "ndjson", path: readingsPath, media: "application/x-ndjson", row: objectRow + "\n", status: 200},
	{name: "csv", path: readingsPath, media: "text/csv", before: "device,time,temperature\n", row: "%s,%d000,%d.5\n", status: 200},
	{name: "gzip", path: readingsPath, media: "application/x-ndjson", row: objectRow + "\n", gzip: true, status: 200},
	{name: "json", path: readingsPath, media: "application/json", before: "[", row: objectRow, between: ",", after: "]", status: 200},
	{name: "line protocol", path: "/write?db=flood", row: lineRow, status: 204},
	{name: "many devices", path: readingsPath, media: "application/x-ndjson", row: `{"device":"%s-%d","time":1700000000000,"fields":{"temperature":%d.5}}` + "\n", status: 200},
}

var rejectedBodies = []largeBody{
	{name: "rejected ndjson", path: readingsPath, media: "application/x-ndjson", row: flatRow + "\n", status: 422},
	{name: "rejected json", path: readingsPath, media: "application/json", before: "[", row: flatRow, between: ",", after: "]", status: 422},
	{name: "rejected csv", path: readingsPath, media: "text/csv", before: "device,time,temperature\n", row: "%s,x%d,%d.5\n", status: 422},
	{name: "rejected lines", path: "/write?db=flood", row: "flood,device=%s time=%d,temperature=%d.5,humidity=\n", status: 400},
}

// text returns a body with the given number of readings of a device.
func (b *largeBody) text(device string, readings int) ([]byte, error) {
	var text bytes.Buffer
	text.WriteString(b.before)
	for i := range readings {
		if i > 0 {
			text.WriteString(b.between)
		}
		fmt.Fprintf(&text, b.row, device, start+i, i%40)
	}
	text.WriteString(b.after)
	if !b.gzip {
		return text.Bytes(), nil
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(text.Bytes())
	err = errors.Join(err, z.Close())
	return packed.Bytes(), err
}

// post sends a body, and checks the status of the answer.
func (b *largeBody) post(ctx context.Context, url string, text []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+b.path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if b.media != "" {
		req.Header.Set("Content-Type", b.media)
	}
	if b.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode != b.status {
		err = errors.Join(err, fmt.Errorf("%s: %s: %.300s", b.name, resp.Status, answer))
	}
	return errors.Join(err, resp.Body.Close())
}

// TestLimits_MemoryOfLargeBodies sends eight large bodies at a time to an agent with default settings, in all
// formats. Then it sends bodies in which all readings are rejected. The agent's memory must stay below
// 20 MB, and below 25 MB with rejected bodies. Other work on the machine delays the garbage collector, so the
// best of several tries counts.
func TestLimits_MemoryOfLargeBodies(t *testing.T) {
	const goodLimit, limit = 20e6, 25e6
	good, all := int64(math.MaxInt64), int64(math.MaxInt64)
	for try := 0; try < 5 && (good > goodLimit || all > limit); try++ {
		g, a := measureLargeBodies(t)
		good, all = min(good, g), min(all, a)
	}
	if good > goodLimit || all > limit {
		t.Errorf("the agent had %.1f MB of memory, and %.1f MB after rejected bodies, want at most 20 and 25 MB", float64(good)/1e6, float64(all)/1e6)
	}
}

// measureLargeBodies returns the peak of the agent's memory in bytes after bodies with good readings, and after
// further bodies with rejected readings.
func measureLargeBodies(t *testing.T) (good, all int64) {
	t.Helper()
	dir := t.TempDir()
	server := newServer(t, build(t, dir, "varve"), dir)
	edge := newAgent(t, build(t, dir, "varve-agent"), dir, server)
	server.start(t)
	edge.start(t)
	for i := range goodBodies {
		goodBodies[i].flood(t, edge.url())
	}
	good, _ = usage(t, edge)
	for i := range rejectedBodies {
		rejectedBodies[i].flood(t, edge.url())
	}
	all, _ = usage(t, edge)
	t.Logf("memory: %.1f MB at most, and %.1f MB after rejected bodies", float64(good)/1e6, float64(all)/1e6)
	edge.kill()
	server.kill()
	return good, all
}

// flood sends bodies of eight devices at the same time.
func (b *largeBody) flood(t *testing.T, url string) {
	t.Helper()
	const devices, readings = 8, 20_000
	texts := make([][]byte, devices)
	for d := range texts {
		text, err := b.text(fmt.Sprint("d", d), readings)
		if err != nil {
			t.Fatal(err)
		}
		texts[d] = text
	}
	errs := make(chan error, devices)
	for _, text := range texts {
		go func() { errs <- b.post(t.Context(), url, text) }()
	}
	for range devices {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}
