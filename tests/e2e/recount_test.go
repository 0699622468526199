package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	model "github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/tests/dynamotest"
)

// hourly has the values of the readings of several devices, by device and hour.
type hourly map[string]map[time.Time][]int

const recountDevices, recountDays = 6, 20

// write writes the readings of recountDays days, and records their values.
func (h hourly) write(t *testing.T, e *engine.Engine) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	req, err := e.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer req.Done()
	for d := range recountDevices {
		device := fmt.Sprintf("d%d", d)
		h[device] = map[time.Time][]int{}
		var list []model.Reading
		for i := range recountDays * 24 * 2 {
			at := tourDay.Truncate(time.Hour).Add(-time.Duration(i) * 30 * time.Minute)
			v := rng.IntN(1_000_000)
			h[device][at.Truncate(time.Hour)] = append(h[device][at.Truncate(time.Hour)], v)
			list = append(list, model.Reading{
				Series: model.Series{Tenant: model.DefaultTenant, Stream: "fleet", Device: device}, Time: at,
				Fields: []model.Field{{Name: "a", Value: model.IntValue(int64(v))}},
			})
		}
		verdicts := make([]model.Verdict, len(list))
		if err := req.Write(t.Context(), list, verdicts); err != nil || verdicts[0].Outcome != model.Stored {
			t.Fatal(err, verdicts[0])
		}
	}
}

// lines returns the roll-ups of a device as varve rollups prints them, up to the column of the maximum.
func (h hourly) lines(device string, width time.Duration) string {
	sums := map[time.Time][]int{}
	for at, list := range h[device] {
		sums[at.Truncate(width)] = append(sums[at.Truncate(width)], list...)
	}
	var b strings.Builder
	for _, at := range slices.SortedFunc(maps.Keys(sums), time.Time.Compare) {
		list, sum := sums[at], 0
		for _, v := range list {
			sum += v
		}
		fmt.Fprintf(&b, "%s,%d,a,%d,%d,%d,%d\n", at.UTC().Format(time.RFC3339), len(list), len(list), sum, slices.Min(list), slices.Max(list))
	}
	return b.String()
}

// rollupLines returns the first columns of the output of varve rollups, up to the maximum.
func rollupLines(t *testing.T, dir, url, device, period string) string {
	t.Helper()
	text, code := varveIn(t, dir, "rollups", "fleet", device, "--period", period, "-o", "csv", "--server", url)
	if code != 0 {
		t.Errorf("rollups of %s: exit code %d: %s", device, code, text)
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		b.WriteString(strings.Join(strings.SplitN(line, ",", 8)[:7], ",") + "\n")
	}
	return b.String()
}

// varveIn runs varve in a folder. It returns the output and the exit code.
func varveIn(t *testing.T, dir string, args ...string) (text string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// counted creates a store whose roll-ups are up to date, and returns its folder.
func counted(t *testing.T, h hourly) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var ahead atomic.Int64
	clock := func() time.Time { return tourDay.Add(time.Duration(ahead.Load())) }
	s, err := local.Open(local.Options{Dir: filepath.Join(dir, "data"), Now: clock, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), engine.Options{Store: s, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, e)
	ahead.Store(int64(4 * time.Hour))
	if n, err := e.Aggregator.Run(t.Context()); err != nil || n == 0 {
		t.Fatalf("%d marks are taken, %v", n, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := setClock(dir, clock()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRepair_RecountsRollups damages partials and repairs the store. Afterward, roll-ups must
// equal the roll-ups of the written values. The repair must name the event times whose readings may
// be missing.
func TestRepair_RecountsRollups(t *testing.T) {
	h := hourly{}
	dir := counted(t, h)
	text, code := varveIn(t, dir, "repair")
	if code != 0 || !strings.Contains(text, "Nothing to repair.") {
		t.Fatalf("%d: %s", code, text)
	}
	damageItems(t, dir)
	was := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(was, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	text, _ = varveIn(t, dir, "repair")
	if !strings.Contains(text, "ROLLUP#default/fleet") || !strings.Contains(text, "roll-ups to recount from the stored readings") {
		t.Errorf("the plan: %s", text)
	}
	text, code = varveIn(t, dir, "repair", "--apply")
	if code != 0 || !strings.Contains(text, "roll-ups recounted: ") || strings.Contains(text, "roll-ups of events") {
		t.Errorf("exit code %d: %s", code, text)
	}
	t.Log(text)
	if text, code = varveIn(t, dir, "repair"); code != 0 || !strings.Contains(text, "Nothing to repair.") {
		t.Errorf("repaired: exit code %d: %s", code, text)
	}
	s := start(t, dir)
	for device := range h {
		for period, width := range map[string]time.Duration{"hourly": time.Hour, "daily": 24 * time.Hour} {
			if got, want := rollupLines(t, dir, s.URL, device, period), h.lines(device, width); got != want {
				t.Errorf("%s roll-ups of %s: %d bytes, want %d", period, device, len(got), len(want))
			}
		}
	}
	// If the class drops readings after a week, roll-ups of older events may lack readings.
	text, code = varveIn(t, was, "repair", "--apply", "--set", "retention.drop=true", "--set", "classes.default.retention=7d")
	gone := "roll-ups of events before " + tourDay.Add(4*time.Hour).AddDate(0, 0, -7).Format("2006-01-02T15:")
	if code != 0 || !strings.Contains(text, gone) {
		t.Errorf("exit code %d, without %q: %s", code, gone, text)
	}
}

// damageItems overwrites 100 bytes at each of six offsets, from 60 to 80 % of the largest file of
// Pebble. Items are after the chunks in the file. A block of Pebble has about a twentieth of the
// items, so the damaged blocks are adjacent. Each device has more items than a block. So the first
// partials of at least one device are always lost.
func damageItems(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "data", "pebble", "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	largest, data := "", []byte{}
	for _, path := range files {
		if d, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		} else if len(d) > len(data) {
			largest, data = path, d
		}
	}
	for part := 60; part <= 80; part += 4 {
		at := len(data) * part / 100
		clear(data[at : at+100])
	}
	if err := os.WriteFile(largest, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestVerify_ComparesRollupsOnDynamoDB checks that a verification of an intact store has no
// findings. If a partial is altered, the verification must name the partial and end with the exit
// code for damage.
func TestVerify_ComparesRollupsOnDynamoDB(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	var ahead atomic.Int64
	clock := func() time.Time { return tourDay.Add(time.Duration(ahead.Load())) }
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(url), Registry: "varve_registry", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), engine.Options{Store: s, Now: clock, Parallel: 16})
	if err != nil {
		t.Fatal(err)
	}
	h := hourly{}
	h.write(t, e)
	ahead.Store(int64(4 * time.Hour))
	if n, err := e.Aggregator.Run(t.Context()); err != nil || n == 0 {
		t.Fatalf("%d marks are taken, %v", n, err)
	}
	dir := t.TempDir()
	if err := setClock(dir, clock()); err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", "--store", "dynamodb", "--set", "store.endpoint=" + url, "--rollups", "100000"}
	text, code := varveIn(t, dir, args...)
	if code != 0 || !strings.Contains(text, "No damage was found.") || !strings.Contains(text, "Roll-ups of 2,886 hours compared") {
		t.Fatalf("exit code %d: %s", code, text)
	}
	page, err := s.Query(t.Context(), store.ItemQuery{PK: "ROLLUP#default/fleet/d2", From: "H#", Limit: 1})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	it := page.Items[0]
	columns := strings.Split(it.Attrs["fields"].Text(), "\t")
	columns[2] += "0"
	it.Attrs["fields"] = model.StringValue(strings.Join(columns, "\t"))
	if err := s.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	hour := tourDay.Truncate(time.Hour).Add(-time.Duration(recountDays*24*2-1) * 30 * time.Minute).Truncate(time.Hour)
	text, code = varveIn(t, dir, append(args, "--seed", "7")...)
	found := "hourly roll-up of " + hour.Format(time.RFC3339) + ", arrived 2026-11-21: field a: sum is "
	if code != 1 || !strings.Contains(text, "default/fleet/d2") || !strings.Contains(text, found) || !strings.Contains(text, "(seed 7)") {
		t.Errorf("exit code %d, without %q: %s", code, found, text)
	}
	// Partials whose readings may have expired must not cause findings.
	text, code = varveIn(t, dir, append(args, "--set", "classes.default.retention=2d", "--seed", "7")...)
	if code != 0 || !strings.Contains(text, "skipped, as their readings have expired or were dropped") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
