package upload_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/upload"
)

// TestSelection_HasFileOnce names a file three times: by two paths, and by its folder.
// It must be one source.
func TestSelection_HasFileOnce(t *testing.T) {
	path := writeFile(t, "s1.csv", csv(3))
	dir := filepath.Dir(path)
	sources, err := new(upload.Selection).Sources([]string{path, dir + "/../weather/s1.csv", dir})
	if err != nil || len(sources) != 1 || sources[0].Path != path {
		t.Errorf("%+v, %v; want one source with the path %s", sources, err, path)
	}
}

// TestCheckpoint_LeavesFilesOfOtherRuns saves a checkpoint while another run saves the same one.
// The temporary file of the other run must stay.
func TestCheckpoint_LeavesFilesOfOtherRuns(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	other := path + ".new"
	if err := os.WriteFile(other, []byte("of another run"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, upload.Options{Client: newClient(t), Checkpoint: path}, writeFile(t, "s1.csv", csv(3))); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "of another run" {
		t.Errorf("%q, %v, want the file of another run", text, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%v, %v, want two files", files, err)
	}
}

// TestSelection_FollowsLinks selects a folder by a link. It has the links that Kubernetes makes in a volume: files
// are links to a folder with the present version, which is a link, too.
// Each file must be selected once, and a link to a missing file must be an error.
func TestSelection_FollowsLinks(t *testing.T) {
	root := t.TempDir()
	volume := filepath.Join(root, "volume")
	weather := filepath.Join(root, "weather")
	missing := filepath.Join(volume, "s2.csv")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(volume, "..2026"), 0o700),
		os.WriteFile(filepath.Join(volume, "..2026", "s1.csv"), []byte(csv(3)), 0o600),
		os.Symlink("..2026", filepath.Join(volume, "..data")),
		os.Symlink("..data/s1.csv", filepath.Join(volume, "s1.csv")),
		os.Symlink("missing.csv", missing),
		os.Symlink("user@host.123", filepath.Join(volume, ".#s1.csv")), // the lock of an editor
		os.Symlink("volume", weather),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := new(upload.Selection).Sources([]string{weather}); err == nil || !strings.Contains(err.Error(), "s2.csv") {
		t.Errorf("with a link to a missing file: %v, want an error about s2.csv", err)
	}
	if err := os.Remove(missing); err != nil {
		t.Fatal(err)
	}
	sources, err := new(upload.Selection).Sources([]string{weather})
	if err != nil || len(sources) != 1 || sources[0].Path != filepath.Join(weather, "s1.csv") || sources[0].Stream != "weather" {
		t.Errorf("found %+v, %v, want s1.csv into weather", sources, err)
	}
}

// TestRejectFile_KeepsRejectionsOfEarlierRun uploads a file with rejections twice, with a checkpoint. The second run
// must send nothing, and the rejections of the first run must stay in their file.
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
		if rejects, err = upload.CreateRejectFile(filepath.Join(dir, "rejects"), up.Resumes(), sources); err != nil {
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

// TestSelection_FindsPartsOfArchive selects the folder of an archive, and a folder whose files only have such names.
// The manifest and the digests of the archive must be skipped.
func TestSelection_FindsPartsOfArchive(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"table/part-0123456789abcdef-00000.parquet", "table/part-0123456789abcdef-00001.parquet", "table/digests-0123456789abcdef.parquet",
		"table/manifest.json", "table/manifest-2.json", "table/notes.json", "other/manifest.json", "other/digests-0123456789abcdef.parquet",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := upload.Selection{Stream: "weather"}
	sources, err := s.Sources([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range sources {
		name, err := filepath.Rel(dir, sources[i].Path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(name))
	}
	want := []string{
		"other/digests-0123456789abcdef.parquet", "other/manifest.json", "table/notes.json",
		"table/part-0123456789abcdef-00000.parquet", "table/part-0123456789abcdef-00001.parquet",
	}
	if !slices.Equal(names, want) {
		t.Errorf("found %v, want %v", names, want)
	}
}
