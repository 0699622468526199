package reconcile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

// Digest is a sum of hashes modulo 2^128. The zero Digest is the digest of no readings.
type Digest struct{ high, low uint64 }

// HashOf returns the digest of a single reading. The digest is the first 128 bits of the SHA-256 of the
// reading's event time and the key of its id. The event time is 8 bytes of nanoseconds since 1970, the
// highest byte first. The key is the text of the id, followed by the version of a correction: see
// varve.ID.AppendKey.
func HashOf(p varve.Position) Digest {
	var buf [8 + varve.MaxIDBytes]byte
	binary.BigEndian.PutUint64(buf[:8], uint64(p.Time))
	sum := sha256.Sum256(p.ID.AppendKey(buf[:8]))
	return Digest{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// Add adds another digest.
func (d *Digest) Add(e Digest) {
	var carry uint64
	d.low, carry = bits.Add64(d.low, e.low, 0)
	d.high, _ = bits.Add64(d.high, e.high, carry)
}

// Compare orders digests as numbers.
func (d Digest) Compare(e Digest) int {
	switch {
	case d == e:
		return 0
	case d.high < e.high || d.high == e.high && d.low < e.low:
		return -1
	}
	return 1
}

// String returns the 16 bytes of the digest in base64 for URLs, without padding: 22 characters.
func (d Digest) String() string {
	b := binary.BigEndian.AppendUint64(nil, d.high)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, d.low))
}

// Lengths of the text of a digest.
const (
	TextLen = 22
	// MinPrefix is the minimum number of characters of a digest's text that a sender may compare. 8
	// characters have 48 bits.
	MinPrefix = 8
)

// HasPrefix reports whether a text is the beginning of the digest's text. The text "" stands for no
// readings.
func (d Digest) HasPrefix(text string) bool {
	if text == "" {
		return d == Digest{}
	}
	return strings.HasPrefix(d.String(), text)
}

func secondsOf(p rollup.Period) int64 {
	if p == rollup.Daily {
		return int64(24 * time.Hour / time.Second)
	}
	return int64(time.Hour / time.Second)
}

// startOf returns the start of the period that contains an event time. Both are in seconds since
// 1970.
func startOf(p rollup.Period, sec int64) int64 { return sec - sec%secondsOf(p) }
