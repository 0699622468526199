package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

// steadyLoad writes readings, one after the other, and counts the acknowledged ones.
type steadyLoad struct {
	sent  atomic.Int64
	acked atomic.Int64
}

// run writes to a server until a write fails or stop is closed. The next run begins with the
// reading whose write failed.
func (l *steadyLoad) run(t *testing.T, url string, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		n := l.acked.Load()
		at := time.Date(2026, 11, 1, 0, 0, int(n), 0, time.UTC).Format(time.RFC3339)
		l.sent.Store(n + 1)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/streams/load/readings", strings.NewReader(fmt.Sprintf(`{"device":"d","time":%q,"fields":{"n":%d}}`, at, n)))
		if err != nil {
			t.Error(err)
			return
		}
		status, _, err := do(req)
		if err != nil || status != http.StatusOK {
			return // the server was killed
		}
		l.acked.Store(n + 1)
	}
}

// TestBackup_SurvivesKills makes backups under load. It kills some of the backup commands, and
// kills the server during other backups. Each finished backup must have all readings that were
// acknowledged before it began.
func TestBackup_SurvivesKills(t *testing.T) {
	rounds := 24
	if testing.Short() {
		rounds = 6
	}
	dir, place := t.TempDir(), filepath.Join(t.TempDir(), "place")
	var load steadyLoad
	// finished[n] is the number of readings that the server had acknowledged before the n-th finished
	// backup began.
	finished := map[int]int64{}
	made := 0
	for round := range rounds {
		s := start(t, dir, "--set", "store.memory=1MiB")
		stop := make(chan struct{})
		var writing sync.WaitGroup
		writing.Go(func() { load.run(t, s.URL, stop) })
		if !varvetest.Eventually(func() bool { return load.acked.Load() > 0 }) {
			t.Fatal("the server stores nothing")
		}
		acked := load.acked.Load()
		// Half of the kills happen at once, so that they precede the end of even a fast backup.
		reported := backUp(t, s, place, round%3, time.Duration(round/3%2*rand.IntN(120))*time.Millisecond)
		close(stop)
		writing.Wait()
		if err := s.Kill(); err != nil && round%3 != 2 {
			t.Fatalf("%v: %s", err, s.Output())
		}
		// Count the manifests, because a killed command may have finished its backup without a report.
		if n := len(manifests(t, place)); n > made {
			made = n
			finished[made] = acked
		} else if reported {
			t.Errorf("a finished backup has no manifest")
		}
		removeMarks(t, place)
	}
	t.Logf("%d of %d backups were finished", made, rounds)
	if made < rounds/3 || made == rounds {
		t.Errorf("%d of %d backups were finished", made, rounds)
	}
	for i, name := range manifests(t, place) {
		checkRestored(t, place, strings.TrimSuffix(filepath.Base(name), ".json"), finished[i+1], load.sent.Load())
	}
}

// manifests returns the paths of the manifests of all finished backups, oldest first.
func manifests(t *testing.T, place string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(place, "backups", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// backUp runs varve backup. In mode 1 it kills the command, and in mode 2 the server, at a time after the backup has
// begun. It returns whether the command reported a finished backup.
func backUp(t *testing.T, s *varvetest.Server, place string, mode int, after time.Duration) bool {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, "backup", place, "--server", s.URL)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if mode > 0 {
		awaitMark(place, ended)
		<-time.After(after)
		if mode == 1 {
			_ = cmd.Process.Kill() // the command may have ended already
		} else if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	err := <-ended
	if err != nil && mode == 0 {
		t.Errorf("%v: %s", err, out.String())
	}
	if mode == 1 && out.Len() > 0 {
		return true // the command reported its backup before the kill
	}
	return err == nil
}

// awaitMark returns when a backup has begun, which leaves a mark, or when its command has ended.
func awaitMark(place string, ended chan error) {
	for {
		if marks, err := filepath.Glob(filepath.Join(place, "running", "*")); len(marks) > 0 || err != nil {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// removeMarks removes the marks that a killed backup leaves. While they exist, Varve refuses further
// backups, and advises to remove them.
func removeMarks(t *testing.T, place string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(place, "running")); err != nil {
		t.Fatal(err)
	}
}

// checkRestored restores a backup. The backup must have at least the acknowledged readings, and at
// most the sent ones.
func checkRestored(t *testing.T, place, name string, acked, sent int64) {
	t.Helper()
	dir := t.TempDir()
	text, err := exec.CommandContext(t.Context(), binary, "restore", place, "--data", filepath.Join(dir, "data"), "--backup", name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	s := start(t, dir)
	out, err := exec.CommandContext(t.Context(), binary, "query", "load", "d", "--from", "2026-11-01", "--to", "2026-12-01", "-o", "csv", "--limit", "1000000", "--server", s.URL).CombinedOutput()
	if err != nil {
		t.Fatalf("backup %s, before which %d readings were acknowledged: %v: %s", name, acked, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	n := int64(len(lines) - 1)
	if n < acked || n > sent {
		t.Errorf("backup %s has %d readings, want %d to %d", name, n, acked, sent)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
