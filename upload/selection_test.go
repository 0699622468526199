package upload_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/upload"
)

// TestSelection_HasFileOnce names a file three times: by two paths, and by its folder.
func TestSelection_HasFileOnce(t *testing.T) {
	path := writeFile(t, "s1.csv", csv(3))
	dir := filepath.Dir(path)
	sources, err := new(upload.Selection).Sources([]string{path, dir + "/../weather/s1.csv", dir})
	if err != nil || len(sources) != 1 || sources[0].Path != path {
		t.Errorf("%+v, %v; want one source with the path %s", sources, err, path)
	}
}

// TestRejectFile_KeepsRejectionsOfEarlierRun uploads a file with rejections twice, with a checkpoint. The second run
// sends nothing, and the rejections of the first one stay in their file.
func TestRejectFile_KeepsRejectionsOfEarlierRun(t *testing.T) {
	path, dir := writeFile(t, "s1.csv", csv(3)+"soon,7\n"), t.TempDir()
	o := upload.Options{Client: newClient(t), Checkpoint: filepath.Join(dir, "state.json")}
	for _, resumed := range []bool{false, true} {
		sources, err := new(upload.Selection).Sources([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		var rejects *upload.RejectFile
		o.Events.Rejected = func(r upload.Rejection) { rejects.Write(&r) }
		up, err := upload.New(o, sources)
		if err != nil || up.Resumes() != resumed {
			t.Fatalf("resumes: %t, %v; want %t", up.Resumes(), err, resumed)
		}
		if rejects, err = upload.CreateRejectFile(filepath.Join(dir, "rejects"), up.Resumes()); err != nil {
			t.Fatal(err)
		}
		result, err := up.Run(t.Context())
		if err := errors.Join(err, up.Close(), rejects.Close()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "rejects"))
		if lines := strings.Count(string(text), "\n"); err != nil || lines != 1 {
			t.Errorf("resumed %t: %d rejections after %+v, %v; want 1", resumed, lines, result, err)
		}
	}
}
