package doors

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	influxdb3 "github.com/InfluxCommunity/influxdb3-go/v2/influxdb3"
	influxdb2 "github.com/influxdata/influxdb-client-go/v2"
	influxdb1 "github.com/influxdata/influxdb1-client"
)

// libraries are the clients that TestClients_AgreeWithStore runs. The library go2-async does not report a
// partial write: it drops errors whose messages have the words "partial write".
var libraries = []client{
	{name: "go1", write: writeGo1},
	{name: "go2", write: writeGo2},
	{name: "go2-async", write: writeGo2Async, retries503: true, retriesCut: true, silent: true},
	{name: "go3", write: writeGo3(false)},
	{name: "go3-v2", write: writeGo3(true)},
	{name: "influx-cli", write: writeCLI},
	{name: "python1", write: writePython, retriesCut: true},
	{name: "js3", write: writeJS3("v3")},
	{name: "js3-v2", write: writeJS3("v2")},
	{name: "js2", write: writeJS, retries503: true, retriesCut: true},
}

func writeGo1(_ *testing.T, address, key string, lines []string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	c, err := influxdb1.NewClient(influxdb1.Config{URL: *u, Username: "any", Password: key})
	if err != nil {
		return err
	}
	resp, err := c.WriteLineProtocol(strings.Join(lines, "\n"), "db", "", "ns", "")
	if err == nil && resp != nil {
		err = resp.Error()
	}
	return err
}

func writeGo2(t *testing.T, address, key string, lines []string) error {
	c := influxdb2.NewClient(address, key)
	defer c.Close()
	return c.WriteAPIBlocking("org", "bucket").WriteRecord(t.Context(), lines...)
}

func writeGo2Async(_ *testing.T, address, key string, lines []string) error {
	c := influxdb2.NewClientWithOptions(address, key, influxdb2.DefaultOptions().
		SetRetryInterval(500).SetMaxRetryInterval(2000).SetMaxRetries(20).SetBatchSize(10).SetFlushInterval(100))
	w := c.WriteAPI("org", "bucket")
	failures, failed := w.Errors(), make(chan error, 1)
	go func() {
		var last error
		for err := range failures {
			if !strings.Contains(err.Error(), "unavailable") && !strings.Contains(err.Error(), "EOF") {
				last = err // a final error; after the other errors, the library retries
			}
		}
		failed <- last
	}()
	for _, line := range lines {
		w.WriteRecord(line)
	}
	// The library retries a batch when it writes a later one, so other points follow. Flush would try
	// each batch once more and discard it.
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := range 30 {
		<-tick.C
		w.WriteRecord(fmt.Sprintf("heartbeat,device=d2 n=%di", n))
	}
	c.Close()
	return <-failed
}

func writeGo3(useV2 bool) func(t *testing.T, address, key string, lines []string) error {
	return func(t *testing.T, address, key string, lines []string) error {
		c, err := influxdb3.New(influxdb3.ClientConfig{Host: address, Token: key, Database: "db", Organization: "org"})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // Close has nothing to send, because Write is synchronous
		err = c.Write(context.Background(), []byte(strings.Join(lines, "\n")), influxdb3.WithUseV2Api(useV2))
		if err != nil {
			requireLine(t, err.Error())
		}
		return err
	}
}

// requireLine checks that a client's error about a partial write names the first bad line.
func requireLine(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "partial write") && !strings.Contains(text, "line 1") {
		t.Errorf("the error names no line: %s", text)
	}
}
