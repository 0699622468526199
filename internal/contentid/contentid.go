// Package contentid computes the canonical form of the fields of a reading.
//
//	fields, by name ──AppendName, Append…──▶ form ──Hash──▶ content id
//
// The form has the fields in the order of their names. The form of a field consists of the length
// and bytes of its name, a tag for the kind, and the value:
//
//   - number: the zigzag varint of twice the exponent, plus 1 if the number is negative. The
//     coefficient without trailing zeros follows, as varints of its low and high 64 bits.
//   - string or JSON: length and bytes.
//   - boolean: only the tag.
//
// [AppendName] and a function such as [AppendNumber] append one field, and [Hash] hashes the form.
// The caller must sort the fields. No function fails.
//
// Equal fields have equal forms. Lengths and tags separate {a:"1",b:"23"} from {a:"12",b:"3"}. The
// form must never change, because a retry must get the id of the stored reading. docs/data-model.md
// has test vectors.
package contentid

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve/decimal"
)

const (
	tagNumber = 'n'
	tagString = 's'
	tagTrue   = 't'
	tagFalse  = 'f'
	tagJSON   = 'j'
)

// Hash returns the hash of a form.
func Hash(form []byte) uint64 { return xxhash.Sum64(form) }

// AppendName appends the name of a field. The caller appends the value after it.
func AppendName(dst []byte, name string) []byte { return appendText(dst, name) }

// AppendNumberTag appends the tag of a number. The caller appends the canonical form of the number after
// it.
func AppendNumberTag(dst []byte) []byte { return append(dst, tagNumber) }

// AppendNumber appends a number.
func AppendNumber(dst []byte, n decimal.Number) []byte {
	return n.AppendCanonical(append(dst, tagNumber))
}

// AppendBool appends a boolean.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, tagTrue)
	}
	return append(dst, tagFalse)
}

// AppendString appends a string.
func AppendString(dst []byte, s string) []byte { return appendText(append(dst, tagString), s) }

// AppendJSON appends a JSON object or array. The text must be canonical already, because AppendJSON
// neither checks nor changes it.
func AppendJSON(dst []byte, text string) []byte { return appendText(append(dst, tagJSON), text) }

func appendText(dst []byte, text string) []byte {
	if len(text) < 0x80 {
		dst = append(dst, byte(len(text)))
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(text)))
	}
	return append(dst, text...)
}
