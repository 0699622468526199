package upload_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/upload"
)

// TestUpload_SendsFilesAfterUnreadableOnes sends readable and unreadable files. All readable files must be
// sent, and the error must name the unreadable files.
func TestUpload_SendsFilesAfterUnreadableOnes(t *testing.T) {
	for _, reconcile := range []bool{false, true} {
		dir := filepath.Dir(writeFile(t, "0.csv", ""))
		for name, text := range map[string]string{"1.csv": "when,v\n", "2.csv": csv(3), "3.csv.gz": "plain", "4.csv": csv(4)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := send(t, upload.Options{Client: newClient(t), Reconcile: reconcile}, dir)
		if got.Stored != 7 {
			t.Errorf("reconcile %t: %d readings are stored, want 7", reconcile, got.Stored)
		}
		var file *upload.FileError
		if !errors.As(err, &file) {
			t.Fatalf("reconcile %t: %v, want a FileError", reconcile, err)
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 3 {
			t.Fatalf("reconcile %t: %d errors, want 3: %v", reconcile, len(lines), err)
		}
		for i, name := range []string{"0.csv", "1.csv", "3.csv.gz"} {
			if !strings.HasPrefix(lines[i], filepath.Join(dir, name)+": ") {
				t.Errorf("reconcile %t: error %d is %q, want one about %s", reconcile, i, lines[i], name)
			}
		}
	}
}

// TestUpload_NamesTenUnreadableFiles checks that the error of many unreadable files names ten of them, and
// counts the others.
func TestUpload_NamesTenUnreadableFiles(t *testing.T) {
	dir := filepath.Dir(writeFile(t, "a.csv", ""))
	for c := 'b'; c <= 'm'; c++ {
		if err := os.WriteFile(filepath.Join(dir, string(c)+".csv"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := send(t, upload.Options{Client: newClient(t)}, dir)
	if err == nil || strings.Count(err.Error(), "is empty") != 10 || !strings.HasSuffix(err.Error(), "\n3 more files could not be read") {
		t.Errorf("%v, want 10 errors and the number of the others", err)
	}
}

// TestUpload_DescribesUnreadableGzip checks the errors for an empty file and for a truncated file, both
// with names that end in .gz.
func TestUpload_DescribesUnreadableGzip(t *testing.T) {
	var whole bytes.Buffer
	z := gzip.NewWriter(&whole)
	if _, err := z.Write([]byte(csv(100))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty: it is not gzip"},
		{whole.String()[:whole.Len()/2], "unexpected EOF"},
	} {
		path := writeFile(t, "s1.csv.gz", c.text)
		_, err := send(t, upload.Options{Client: newClient(t)}, path)
		if want := path + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("%d bytes: the error is %v, want %s", len(c.text), err, want)
		}
	}
}
