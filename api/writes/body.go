package writes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve"
)

// OpenBody returns the decompressed body of a request. Reads fail if the decompressed length exceeds
// the argument "limit", in bytes.
func OpenBody(r *http.Request, limit int64) (io.ReadCloser, error) {
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		if r.ContentLength > limit {
			return nil, &http.MaxBytesError{Limit: limit}
		}
		return &bounded{in: r.Body, close: r.Body.Close, left: limit, limit: limit}, nil
	case "gzip":
		return openGzip(r.Body, limit)
	case "zstd":
		return openZstd(r.Body, limit)
	default:
		return nil, Unsupported("Content-Encoding", "%q is not understood: use gzip, zstd or none", encoding)
	}
}

var gzips sync.Pool

func openGzip(raw io.ReadCloser, limit int64) (io.ReadCloser, error) {
	z, _ := gzips.Get().(*gzip.Reader)
	var err error
	if z == nil {
		z, err = gzip.NewReader(raw)
	} else {
		err = z.Reset(raw)
	}
	if err != nil {
		return nil, packed("gzip", err)
	}
	return &bounded{in: z, name: "gzip", left: limit, limit: limit, close: func() error {
		gzips.Put(z)
		return raw.Close()
	}}, nil
}

var zstds sync.Pool

// maxZstdWindow limits the window of zstd in bytes, and so the memory that a compressed body can require.
const maxZstdWindow = 8 << 20

func openZstd(raw io.ReadCloser, limit int64) (io.ReadCloser, error) {
	z, _ := zstds.Get().(*zstd.Decoder)
	var err error
	if z == nil {
		z, err = zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true))
	} else {
		err = z.Reset(raw)
	}
	if err != nil {
		return nil, packed("zstd", err)
	}
	return &bounded{in: z, name: "zstd", left: limit, limit: limit, close: func() error {
		err := z.Reset(nil)
		zstds.Put(z)
		return errors.Join(err, raw.Close())
	}}, nil
}

// packed converts an error of reading a compressed body. For a body that ends too early, it returns
// io.ErrUnexpectedEOF, and an error of the network stays unchanged. All other errors mean that the body
// does not match its Content-Encoding.
func packed(name string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	var broken net.Error
	if errors.As(err, &broken) {
		return err // the body did not arrive, so its encoding is unknown
	}
	return varve.Errorf(varve.Invalid, "the body is not %s: %s", name, err)
}

// bounded reads a body, and fails if its decompressed length exceeds limit.
type bounded struct {
	in    io.Reader
	name  string // name of the compression, or "" if the body is not compressed
	close func() error
	left  int64
	limit int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		// A body whose size equals the limit is accepted, and a larger body is not.
		var one [1]byte
		n, err := b.in.Read(one[:])
		if n > 0 {
			return 0, &http.MaxBytesError{Limit: b.limit}
		}
		return 0, b.wrap(err)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.in.Read(p)
	b.left -= int64(n)
	return n, b.wrap(err)
}

func (b *bounded) wrap(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	var reset *http.MaxBytesError
	if errors.As(err, &reset) {
		return err
	}
	if b.name == "" {
		return unreadable(err)
	}
	return packed(b.name, err)
}

// unreadable converts an error of reading a body without compression. Errors of the network, and of the end of
// the request, stay unchanged. All other errors mean that the body violates HTTP, such as an invalid chunk.
func unreadable(err error) error {
	var broken net.Error
	if errors.As(err, &broken) || errors.Is(err, context.Canceled) || errors.Is(err, http.ErrBodyReadAfterClose) {
		return err
	}
	return varve.Errorf(varve.Invalid, "the body cannot be read: %s: send it again", err)
}

func (b *bounded) Close() error { return b.close() }

func tooLarge(limit int64) error {
	return fmt.Errorf("the body is longer than %d MiB: send it in parts; what came before is counted here", limit>>20)
}
