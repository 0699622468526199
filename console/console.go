package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

// MaxBytes is an upper limit in bytes for the total size of all embedded files, without compression.
const MaxBytes = 150_000

//go:embed assets
var embedded embed.FS

// policy is the content security policy. It allows only files of this server, requests to it, and images
// in data URLs. A page of the console must not be shown in a frame, because a click there could apply a
// plan.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// asset is an embedded file with its headers.
type asset struct {
	text  []byte // without compression
	gz    []byte // the same text, compressed by gzip
	media string // content type
}

// bundle has all assets. Its hash is a part of the addresses of the assets, so that browsers may cache
// the assets without a time limit.
type bundle struct {
	assets map[string]asset // by path, such as app.js
	hash   string
	index  asset
	tag    string // ETag of index
}

// loadBundle returns the bundle. The first call reads and compresses the embedded files.
var loadBundle = sync.OnceValues(readBundle)

func readBundle() (*bundle, error) {
	b := &bundle{assets: map[string]asset{}}
	sum := sha256.New()
	err := fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		_, _ = sum.Write([]byte(name + "\x00")) // a hash does not fail
		_, _ = sum.Write(text)
		b.assets[strings.TrimPrefix(name, "assets/")], err = newAsset(name, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	index := bytes.ReplaceAll(b.assets["index.html"].text, []byte("HASH"), []byte(b.hash))
	delete(b.assets, "index.html")
	b.tag = `W/"` + b.hash + `"` // weak, because the compressed form has the same tag
	b.index, err = newAsset("index.html", index)
	return b, err
}

// media has the content type of each file extension. The configuration of the machine does not affect
// these types.
var media = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".svg": "image/svg+xml",
}

func newAsset(name string, text []byte) (asset, error) {
	a := asset{text: text, media: "text/plain; charset=utf-8"}
	if kind, ok := media[path.Ext(name)]; ok {
		a.media = kind
	}
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	if _, err := w.Write(text); err != nil {
		return a, err
	}
	if err := w.Close(); err != nil {
		return a, err
	}
	a.gz = gz.Bytes()
	return a, nil
}

// Handler returns the handler of the paths /ui and below. It passes requests for unknown assets to
// notFound.
func Handler(notFound http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := loadBundle()
		if err != nil { // impossible, because the files are embedded in the program
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		rest, isAsset := strings.CutPrefix(r.URL.Path, "/ui/assets/")
		if !isAsset {
			h.Set("Cache-Control", "no-cache")
			h.Set("ETag", b.tag)
			b.index.serve(w, r)
			return
		}
		hash, name, _ := strings.Cut(rest, "/")
		a, ok := b.assets[name]
		if !ok || hash != b.hash {
			notFound.ServeHTTP(w, r)
			return
		}
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("ETag", b.tag)
		a.serve(w, r)
	})
}

// serve writes an asset, compressed if the browser accepts gzip. It answers 304 if the browser sends the
// ETag.
func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.media)
	h.Set("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), h.Get("ETag")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	text := a.text
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		text = a.gz
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // a browser that disconnected needs no answer
	}
}

func matches(list, tag string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool {
		one = strings.TrimSpace(one)
		return one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/")
	})
}

func acceptsGzip(list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool {
		coding, params, err := mime.ParseMediaType(strings.TrimSpace(one))
		return err == nil && coding == "gzip" && (params["q"] == "" || strings.Trim(params["q"], "0.") != "")
	})
}
