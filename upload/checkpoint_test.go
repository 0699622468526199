package upload_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/upload"
)

// TestCheckpoint_NoticesReplacedFile replaces a file by another one while it is sent, as an atomic write does. The
// next run must send the whole new file, whether it is longer or shorter.
func TestCheckpoint_NoticesReplacedFile(t *testing.T) {
	for _, rows := range []int{30, 3} {
		path := writeFile(t, "s1.csv", csv(20))
		restarts, isReplaced := 0, false
		o := upload.Options{Client: newClient(t), Batch: 6, Checkpoint: filepath.Join(t.TempDir(), "state.json"), Events: upload.Events{
			Restarted: func(string, string) { restarts++ },
			Progress: func(int64) {
				if isReplaced {
					return
				}
				isReplaced = true
				other := writeFile(t, "s1.csv", "time,w\n"+csv(rows)[len("time,v\n"):])
				if err := os.Rename(other, path); err != nil {
					t.Error(err)
				}
			},
		}}
		if got, err := send(t, o, path); err != nil || got.Stored != 20 {
			t.Errorf("%d rows: %+v, %v, want 20 stored", rows, got, err)
		}
		want := wire.Tally{Stored: int64(rows)}
		if got, err := send(t, o, path); err != nil || got.Tally != want || restarts != 1 {
			t.Errorf("%d rows, the new file: %+v, %v, %d restarts, want %+v and 1", rows, got.Tally, err, restarts, want)
		}
	}
}

// TestCheckpoint_BelongsToTenant sends a file with keys of two tenants. Each tenant must get the readings.
// With another key of the same tenant, nothing may be resent.
func TestCheckpoint_BelongsToTenant(t *testing.T) {
	e, url := newServer(t, engine.DefaultRotation())
	if _, _, err := e.Keys.Create(t.Context(), apikeys.Draft{Scopes: apikeys.Admin}); err != nil {
		t.Fatal(err)
	}
	path, checkpoint := writeFile(t, "s1.csv", csv(20)), filepath.Join(t.TempDir(), "state.json")
	for _, x := range []struct {
		tenant          string
		stored, resumed int64
	}{{"a", 20, 0}, {"a", 0, 20}, {"b", 20, 0}} {
		_, key, err := e.Keys.Create(t.Context(), apikeys.Draft{Tenant: x.tenant, Scopes: apikeys.Write})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(url, client.WithRetries(0), client.WithKey(key))
		if err != nil {
			t.Fatal(err)
		}
		got, err := send(t, upload.Options{Client: c, Server: url, Checkpoint: checkpoint}, path)
		if err != nil || got.Stored != x.stored || got.Resumed != x.resumed {
			t.Errorf("tenant %s: %+v, %v, want %d stored and %d resumed", x.tenant, got, err, x.stored, x.resumed)
		}
	}
}
