package upload

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compression is a content encoding of HTTP, or parquetForm. "" means a file that is not compressed.
type compression string

const (
	gzipped compression = "gzip"
	zstded  compression = "zstd"
)

// compressions lists the extension and the first bytes of compressed files.
var compressions = []struct {
	name      compression
	extension string
	magic     []byte
}{
	{gzipped, ".gz", []byte{0x1f, 0x8b}},
	{zstded, ".zst", []byte{0x28, 0xb5, 0x2f, 0xfd}},
}

// splitCompression removes the extensions of compressed files from a name, and returns the compression.
func splitCompression(name string) (rest string, c compression) {
	for _, known := range compressions {
		if cut, ok := strings.CutSuffix(name, known.extension); ok {
			name, c = cut, known.name
		}
	}
	return name, c
}

// detectCompression returns the compression of data, by its first bytes.
func detectCompression(r *bufio.Reader) compression {
	start, _ := r.Peek(4) // ignore an error, because the next read returns it, too
	for _, known := range compressions {
		if bytes.HasPrefix(start, known.magic) {
			return known.name
		}
	}
	return ""
}

// decompress returns a reader of the plain text, and its close function.
func (c compression) decompress(r io.Reader) (io.Reader, func() error, error) {
	if c == parquetForm {
		return parquetText(r)
	}
	if c == gzipped {
		z, err := gzip.NewReader(r)
		if errors.Is(err, io.EOF) {
			return nil, nil, errors.New("the file is empty: it is not gzip")
		}
		if err != nil {
			return nil, nil, err
		}
		return z, func() error { return nil }, nil // Close would repeat the error of the last read
	}
	z, err := zstd.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	return z, func() error { z.Close(); return nil }, nil
}

func (c compression) compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	var z io.WriteCloser = gzip.NewWriter(&out)
	if c == zstded {
		var err error
		if z, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, err
		}
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}
