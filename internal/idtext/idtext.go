// Package idtext converts the hashes and versions in ids to texts, and parses these texts.
//
//	hash 64 bits ◀──▶ text of 11 characters
//	key = text, or text ␟ digits of the version: their number, then the digits
//
// [AppendHash] and [ParseHash] convert hashes. [AppendVersion] and [CutVersion] convert versions.
//
// These rules always hold:
//
//   - A hash is a text of [HashLen] characters. These texts sort in the order of the hashes.
//   - A version follows the text of an id in its key. Keys sort by text, then by version.
//   - A text or key is accepted only if this package can have made it.
//
// The parsers report other texts by false. All functions are pure.
package idtext

import (
	"strconv"
	"strings"
)

// HashLen is the length of the text of a hash. Its characters encode 66 bits. The first character
// encodes only the top 4 bits of the hash.
const HashLen = 11

// alphabet has the 64 characters of a hash's text, in ascending order of their bytes. So texts sort in
// the order of their hashes.
const alphabet = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

var digits = func() (d [256]int8) {
	for i := range d {
		d[i] = -1
	}
	for i := range len(alphabet) {
		d[alphabet[i]] = int8(i)
	}
	return d
}()

// ParseHash returns the hash with the given text. It returns false if the text does not have the form
// of a hash.
func ParseHash(text string) (hash uint64, ok bool) {
	if len(text) != HashLen || digits[text[0]] >= 16 {
		return 0, false
	}
	for i := range len(text) {
		d := digits[text[i]]
		if d < 0 {
			return 0, false
		}
		hash = hash<<6 | uint64(d)
	}
	return hash, true
}

// AppendHash appends the text of a hash to dst.
func AppendHash(dst []byte, hash uint64) []byte {
	// Append placeholders and overwrite them with the digits. This is faster than writing the digits
	// to another buffer and copying them.
	dst = append(dst, "-----------"...)
	text := dst[len(dst)-HashLen:]
	for i := HashLen - 1; i >= 0; i-- {
		text[i] = alphabet[hash&63]
		hash >>= 6
	}
	return dst
}

// versionMark separates the text of an id from its version in a key. Texts of ids cannot contain
// this byte, and it sorts before all their characters. So the keys of an id's versions are adjacent
// in sorted order.
const versionMark = '\x1f'

// AppendVersion appends a version to dst, which ends with the text of the id. The version is not 0.
//
// A version is written as the mark 0x1f, one character for the number of its digits, and its
// decimal digits. The character is '0' plus that number. So keys sort like ids.
func AppendVersion(dst []byte, version uint32) []byte {
	dst = append(dst, versionMark, '0')
	at := len(dst)
	dst = strconv.AppendUint(dst, uint64(version), 10)
	dst[at-1] += byte(len(dst) - at)
	return dst
}

// CutVersion splits a key into the text of the id and the version. Without a version, it returns 0. It
// returns false for a key with a version that AppendVersion would not write in this way.
func CutVersion(key string) (text string, version uint32, ok bool) {
	at := strings.IndexByte(key, versionMark)
	if at < 0 {
		return key, 0, true
	}
	v, err := strconv.ParseUint(key[min(at+2, len(key)):], 10, 31)
	if err != nil || v == 0 || string(AppendVersion([]byte(key[:at]), uint32(v))) != key {
		return "", 0, false
	}
	return key[:at], uint32(v), true
}
