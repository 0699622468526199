package upload_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/upload"
)

// TestRejectFile_PreservesOtherData checks that a file with readings, or a file that is also a source, is
// not truncated. A file with earlier rejections must be truncated.
func TestRejectFile_PreservesOtherData(t *testing.T) {
	const rejection = `{"file":"a.csv","index":0,"code":"time_invalid","message":"no"}` + "\n"
	for _, row := range []struct {
		name, text       string
		isSource, accept bool
	}{
		{"a.csv", csv(3), true, false}, {"a.csv", csv(3), false, false}, {"a.ndjson", `{"time":1,"fields":{"v":1}}`, false, false},
		{"a.ndjson", rejection, true, false}, {"a.ndjson", rejection, false, true}, {"a.ndjson", "", false, true},
	} {
		path := writeFile(t, row.name, row.text)
		var sources []upload.Source
		if row.isSource {
			link := filepath.Join(filepath.Dir(path), "link-"+row.name)
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			var err error
			if sources, err = new(upload.Selection).Sources([]string{link}); err != nil {
				t.Fatal(err)
			}
		}
		f, err := upload.CreateRejectFile(path, false, sources)
		if (err == nil) != row.accept {
			t.Errorf("%+v: %v", row, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || (string(text) == row.text) != (!row.accept || row.text == "") {
			t.Errorf("%+v: the file has %q, %v", row, text, err)
		}
	}
}
