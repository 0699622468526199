package agent

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// usage returns the peak memory of a process in bytes, and its processor time.
func usage(t *testing.T, p *program) (memory int64, processor time.Duration) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		t.Skipf("the memory of a process is measured on Linux only: %v", err)
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	kib, err1 := strconv.ParseInt(string(peak[1]), 10, 64)
	user, err2 := strconv.ParseInt(fields[11], 10, 64)
	system, err3 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	return kib << 10, time.Duration(user+system) * 10 * time.Millisecond // both times are in ticks of 10 ms
}

// TestLimits_MemoryAndSpeed sends readings from several devices in parallel, as fast as the agent
// accepts them. The agent's memory must stay below 20 MB. One core must accept and send at least
// 20,000 readings a second. Other work on the machine delays the garbage collector, so the best of
// several tries counts.
func TestLimits_MemoryAndSpeed(t *testing.T) {
	peak, perCore := int64(math.MaxInt64), 0.0
	for try := 0; try < 3 && (peak > 20e6 || perCore < 20_000); try++ {
		p, speed := measureFlood(t)
		peak, perCore = min(peak, p), max(perCore, speed)
	}
	if peak > 20e6 {
		t.Errorf("the agent had %.1f MB of memory, want at most 20 MB", float64(peak)/1e6)
	}
	if perCore < 20_000 {
		t.Errorf("a core accepts and sends %.0f readings a second, want 20,000", perCore)
	}
}

// measureFlood returns the peak of the agent's memory in bytes while it accepts and sends readings, and the readings
// per second of one core.
func measureFlood(t *testing.T) (peak int64, perCore float64) {
	t.Helper()
	dir := t.TempDir()
	server := newServer(t, build(t, dir, "varve"), dir)
	edge := newAgent(t, build(t, dir, "varve-agent"), dir, server)
	edge.environ = []string{"GOMAXPROCS=1"}
	server.start(t)
	edge.start(t)
	idle, before := usage(t, edge)
	const devices, bodies, perBody = 4, 20, 2500
	begin := time.Now()
	errs := make(chan error, devices)
	for d := range devices {
		go func() { errs <- flood(t, edge.url(), fmt.Sprint("d", d), bodies, perBody) }()
	}
	for range devices {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	accepted := time.Since(begin)
	empties(t, edge.url())
	peak, after := usage(t, edge)
	const all = devices * bodies * perBody
	perCore = all / (after - before).Seconds()
	t.Logf("memory: %.1f MB idle, %.1f MB at most; %.0f readings/s accepted, %.0f readings/s accepted and sent per core",
		float64(idle)/1e6, float64(peak)/1e6, all/accepted.Seconds(), perCore)
	edge.kill()
	server.kill()
	return peak, perCore
}

// TestLimits_MemoryOfComparison lets the agent compare the readings of 1,000 devices and 24 hours
// with the server. The agent's memory must stay below 20 MB. Other work on the machine delays the
// garbage collector, so the best of several tries counts.
func TestLimits_MemoryOfComparison(t *testing.T) {
	peak := int64(math.MaxInt64)
	for try := 0; try < 3 && peak > 20e6; try++ {
		peak = min(peak, measureComparison(t))
	}
	if peak > 20e6 {
		t.Errorf("the agent had %.1f MB of memory, want at most 20 MB", float64(peak)/1e6)
	}
}

// measureComparison returns the peak of the agent's memory in bytes while it compares readings with a new server.
func measureComparison(t *testing.T) int64 {
	t.Helper()
	dir := t.TempDir()
	server := newServer(t, build(t, dir, "varve"), dir)
	edge := newAgent(t, build(t, dir, "varve-agent"), dir, server)
	server.start(t)
	edge.start(t)
	c, err := client.New(edge.url())
	if err != nil {
		t.Fatal(err)
	}
	const devices, perDay = 1000, 144
	for n := range perDay {
		var body bytes.Buffer
		for d := range devices {
			fmt.Fprintf(&body, `{"device":"sensor-%d","time":%d,"fields":{"temperature":%d.5,"humidity":%d,"ok":true}}`+"\n", d, (start+n*600)*1000, n%40, d%90)
		}
		if answer, err := c.Write(t.Context(), "flood", client.Body{Data: body.Bytes(), Format: wire.NDJSON}); err != nil || answer.Queued != devices {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	empties(t, edge.url())
	edge.kill()
	edge.args = append(edge.args, "--set", "outbox.keep=1s")
	edge.start(t)
	begin := time.Now()
	compares(t, edge.url(), devices*perDay)
	took := time.Since(begin)
	peak, processor := usage(t, edge)
	t.Logf("memory: %.1f MB at most; %d readings compared in %s, with %s of a processor", float64(peak)/1e6, devices*perDay, took, processor)
	edge.kill()
	server.kill()
	return peak
}

func flood(t *testing.T, url, device string, bodies, perBody int) error {
	c, err := client.New(url)
	if err != nil {
		return err
	}
	for b := range bodies {
		var body bytes.Buffer
		for i := range perBody {
			n := b*perBody + i
			fmt.Fprintf(&body, `{"device":%q,"time":%d,"fields":{"temperature":%d.5,"humidity":%d,"ok":true}}`+"\n", device, (start+n)*1000, n%40, n%90)
		}
		answer, err := c.Write(t.Context(), "flood", client.Body{Data: body.Bytes(), Format: wire.NDJSON})
		if err != nil {
			return err
		}
		if answer.Queued != int64(perBody) {
			return fmt.Errorf("body %d: %+v", b, answer)
		}
	}
	return nil
}

// TestBuilds_AreStatic builds the agent for small devices. The programs must run without a dynamic
// loader, which ELF calls an interpreter.
func TestBuilds_AreStatic(t *testing.T) {
	for _, target := range []struct {
		arch, arm string
		machine   elf.Machine
	}{{"arm", "7", elf.EM_ARM}, {"arm64", "", elf.EM_AARCH64}} {
		if testing.Short() && target.arch == "arm64" {
			continue // its compilation takes a minute
		}
		path := build(t, t.TempDir(), "varve-agent", "GOOS=linux", "GOARCH="+target.arch, "GOARM="+target.arm)
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s: needs an interpreter", target.arch)
			}
		}
		if f.Machine != target.machine || f.Close() != nil {
			t.Errorf("%s: built for %s", target.arch, f.Machine)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s%s: %.1f MB", target.arch, target.arm, float64(info.Size())/1e6)
	}
}
