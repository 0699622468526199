package upload_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/upload"
)

// TestCheckpoint_NoticesReplacedFile replaces a file by another one while it is sent, as an atomic write does. The
// next run sends the whole new file, whether it is longer or shorter.
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
