package apikeys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"math/big"
	"strings"
)

// Prefix is the prefix of every key.
const Prefix = "vk_"

// The text of a key has four parts: the prefix, an id, an underscore, and a secret. The id has 40
// bits in lowercase letters and digits, the secret 256 bits in letters and digits.
const (
	idBytes     = 5
	idLen       = 8
	secretBytes = 32
	secretLen   = 43 // ceil(256 bits / log2(62))
	textLen     = len(Prefix) + idLen + 1 + secretLen
)

var ids = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newText creates an id, and the text of a key with this id. crypto/rand does not fail.
func newText() (id, text string) {
	var b [idBytes + secretBytes]byte
	_, _ = rand.Read(b[:])
	id = ids.EncodeToString(b[:idBytes])
	secret := new(big.Int).SetBytes(b[idBytes:]).Text(62)
	return id, Prefix + id + "_" + strings.Repeat("0", secretLen-len(secret)) + secret
}

// idOf returns the id in a key's text, or false if the text is not a key.
func idOf(text string) (string, bool) {
	if len(text) != textLen || text[:len(Prefix)] != Prefix || text[len(Prefix)+idLen] != '_' {
		return "", false
	}
	id := text[len(Prefix) : len(Prefix)+idLen]
	return id, isID(id) && isSecret(text[len(Prefix)+idLen+1:])
}

func isID(s string) bool {
	for i := range len(s) {
		if c := s[i]; c-'a' >= 26 && c-'2' >= 6 {
			return false
		}
	}
	return len(s) == idLen
}

func isSecret(s string) bool {
	for i := range len(s) {
		if c := s[i]; c-'0' > 9 && c|0x20-'a' >= 26 {
			return false
		}
	}
	return true
}

// IDOf returns the id of a key, given its id or its whole text. If another text begins with Prefix,
// it may contain a secret, so only the part before the next underscore is returned. All other texts
// are returned unchanged.
func IDOf(text string) string {
	if rest, ok := strings.CutPrefix(text, Prefix); ok {
		id, _, _ := strings.Cut(rest, "_")
		return id
	}
	return text
}

// leastSecret is the least number of characters of a secret by which Shows recognizes a truncated key.
const leastSecret = 16

// Shows reports whether a text contains a key, or a large part of one.
func Shows(text string) bool {
	for {
		_, rest, found := strings.Cut(text, Prefix)
		if !found {
			return false
		}
		const from = idLen + 1
		if len(rest) >= from+leastSecret && rest[idLen] == '_' && isID(rest[:idLen]) && isSecret(rest[from:from+leastSecret]) {
			return true
		}
		text = rest
	}
}

func hashOf(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }
