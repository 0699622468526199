package receipts

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Receipt states the number and the digest of the readings of a device that were stored at a time.
type Receipt struct {
	Tenant   string    `json:"tenant"`
	Stream   string    `json:"stream"`
	Device   string    `json:"device"`
	Windows  []Window  `json:"windows" doc:"ranges of event time"`
	Readings int64     `json:"readings" doc:"number of distinct readings in the windows"`
	Digest   string    `json:"digest" doc:"digest of these readings"`
	At       time.Time `json:"at" doc:"time of the statement"`
}

// Window is a half-open range of event time.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Key is a public key as a JSON Web Key.
type Key struct {
	Type  string `json:"kty" enum:"OKP"`
	Curve string `json:"crv" enum:"Ed25519"`
	Use   string `json:"use" enum:"sig"`
	ID    string `json:"kid" doc:"names the key in receipts"`
	X     string `json:"x" doc:"the 32 bytes of the public key, in base64 for URLs"`
}

var encoding = base64.RawURLEncoding.Strict()

// keyID returns the id of a public key, which is the beginning of its hash.
func keyID(pub ed25519.PublicKey) string {
	sum := sha256.Sum256(pub)
	return encoding.EncodeToString(sum[:9])
}

// public returns the key for crypto/ed25519. It fails for a key of another type.
func (k *Key) public() (ed25519.PublicKey, error) {
	b, err := encoding.DecodeString(k.X)
	if err != nil || k.Type != "OKP" || k.Curve != "Ed25519" || len(b) != ed25519.PublicKeySize {
		return nil, errors.New("the key is not an Ed25519 public key as a JSON Web Key")
	}
	return b, nil
}

type header struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
	KeyID     string `json:"kid"`
}

const receiptType = "varve-receipt"

// Signer signs receipts.
type Signer struct{ key ed25519.PrivateKey }

// Key returns the public key.
func (s *Signer) Key() Key {
	pub := s.key.Public().(ed25519.PublicKey)
	return Key{Type: "OKP", Curve: "Ed25519", Use: "sig", ID: keyID(pub), X: encoding.EncodeToString(pub)}
}

// Sign returns the text of a receipt.
func (s *Signer) Sign(r *Receipt) (string, error) {
	head, err := json.Marshal(header{"EdDSA", receiptType, s.Key().ID})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	text := encoding.EncodeToString(head) + "." + encoding.EncodeToString(body)
	return text + "." + encoding.EncodeToString(ed25519.Sign(s.key, []byte(text))), nil
}

// Verify returns the content of a receipt, or an error if the key did not sign it.
func Verify(text string, k Key) (r Receipt, err error) {
	pub, err := k.public()
	if err != nil {
		return r, err
	}
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) != 3 {
		return r, errors.New("not a receipt: use the output of varve receipts create without changes")
	}
	var decoded [3][]byte
	for i := range parts {
		if decoded[i], err = encoding.DecodeString(parts[i]); err != nil {
			return r, errors.New("not a receipt: use the output of varve receipts create without changes")
		}
	}
	var h header
	switch err := json.Unmarshal(decoded[0], &h); {
	case err != nil || h.Algorithm != "EdDSA" || h.Type != receiptType:
		return r, errors.New("not a receipt: its header names another type")
	case h.KeyID != keyID(pub):
		return r, fmt.Errorf("the receipt was signed with the key %q, not with %s: use that key", h.KeyID, keyID(pub))
	case !ed25519.Verify(pub, []byte(parts[0]+"."+parts[1]), decoded[2]):
		return r, errors.New("the signature is wrong: the receipt was changed")
	}
	if err := json.Unmarshal(decoded[1], &r); err != nil {
		return r, fmt.Errorf("the content of the receipt: %w", err)
	}
	return r, nil
}
