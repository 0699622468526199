package console_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/varvedb/varve/console"
)

func get(t *testing.T, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	console.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) []byte {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var address = regexp.MustCompile(`(?:href|src)="(/ui/assets/[^"]+)"`)

// assetsOf returns the URL path of the folder of the assets, and the URL paths of the assets that the
// page names.
func assetsOf(t *testing.T) (folder string, paths []string) {
	t.Helper()
	for _, m := range address.FindAllStringSubmatch(string(bodyOf(t, get(t, "/ui"))), -1) {
		paths = append(paths, m[1])
	}
	if len(paths) < 4 {
		t.Fatalf("the page names %v", paths)
	}
	return strings.TrimSuffix(paths[0], "icon.svg"), paths
}

// TestHandler_ServesEveryAsset requests each embedded file, plain and compressed, and checks the headers.
func TestHandler_ServesEveryAsset(t *testing.T) {
	folder, _ := assetsOf(t)
	media := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
	eachAsset(t, func(name string, text []byte) {
		for coding, want := range map[string]bool{"": false, "gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "gzip;q=0.0": false} {
			r := get(t, folder+name, "Accept-Encoding", coding)
			body := bodyOf(t, r)
			if r.Header.Get("Content-Encoding") == "gzip" {
				z, err := gzip.NewReader(bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if body, err = io.ReadAll(z); err != nil {
					t.Fatal(err)
				}
			}
			compressed := r.Header.Get("Content-Encoding") == "gzip"
			if r.StatusCode != http.StatusOK || !bytes.Equal(body, text) || compressed != want {
				t.Errorf("%s with %q: %d, compressed %t", name, coding, r.StatusCode, compressed)
			}
			if got, want := r.Header.Get("Content-Type"), media[filepath.Ext(name)]; got != want {
				t.Errorf("%s has the type %q, want %q", name, got, want)
			}
			if got := r.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
				t.Errorf("%s: Cache-Control is %q", name, got)
			}
		}
	})
}

// eachAsset calls visit for each embedded file except the page itself.
func eachAsset(t *testing.T, visit func(name string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir("assets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "index.html" {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			visit(strings.TrimPrefix(filepath.ToSlash(path), "assets/"), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHandler_SetsSecurityHeaders checks the content security policy and the other headers of the page, such as
// Cache-Control: browsers must revalidate the page.
func TestHandler_SetsSecurityHeaders(t *testing.T) {
	for _, path := range []string{"/ui", "/ui/", "/ui/tables", "/ui/device/a%2Fb", "/ui/nothing"} {
		r := get(t, path)
		policy := r.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy has no %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache", "Content-Type": "text/html; charset=utf-8"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		tag := r.Header.Get("ETag")
		if !strings.HasPrefix(tag, `W/"`) {
			t.Errorf("%s: the ETag %s is not weak, although the compressed page has it, too", path, tag)
		}
		for _, known := range []string{tag, strings.TrimPrefix(tag, "W/"), `"other", ` + tag, "*"} {
			again := get(t, path, "If-None-Match", known)
			if again.StatusCode != http.StatusNotModified || len(bodyOf(t, again)) != 0 {
				t.Errorf("%s: %d for If-None-Match: %s", path, again.StatusCode, known)
			}
		}
		if other := get(t, path, "If-None-Match", `"other"`); other.StatusCode != http.StatusOK || len(bodyOf(t, other)) == 0 {
			t.Errorf("%s: %d with another ETag", path, other.StatusCode)
		}
	}
	if text := string(bodyOf(t, get(t, "/ui"))); strings.Contains(text, "<script>") || strings.Contains(text, "style=") || strings.Contains(text, "HASH") {
		t.Error("the page has an inline script or style, or no hash")
	}
}

// TestHandler_RefusesUnknownAssets checks that the assets of the page are found, but not unknown assets
// or assets below another hash.
func TestHandler_RefusesUnknownAssets(t *testing.T) {
	folder, paths := assetsOf(t)
	for _, path := range paths {
		if r := get(t, path); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	for _, path := range []string{folder, folder + "nothing.js", folder + "index.html", folder + "../console.go", "/ui/assets/0123456789abcdef/app.js", "/ui/assets/"} {
		if r := get(t, path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// TestAssets_AreSmall limits the bytes of all embedded files, with the page and the notice of the
// libraries.
func TestAssets_AreSmall(t *testing.T) {
	sum, sizes := 0, ""
	err := fs.WalkDir(os.DirFS("assets"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum += int(info.Size())
		sizes += fmt.Sprintf("\n%7d %s", info.Size(), path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes%s", sum, sizes)
	if sum >= console.MaxBytes {
		t.Errorf("the embedded files have %d bytes, want less than %d", sum, console.MaxBytes)
	}
}

func TestAssets_NameLicenses(t *testing.T) {
	folder, _ := assetsOf(t)
	notice := string(bodyOf(t, get(t, folder+"NOTICE.txt")))
	for _, want := range []string{"preact, Copyright (c) 2015-present Jason Miller", "uPlot, Copyright (c) 2022 Leon Sorokin", "Permission is hereby granted"} {
		if !strings.Contains(notice, want) {
			t.Errorf("the notice has no %q:\n%s", want, notice)
		}
	}
}
