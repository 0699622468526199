package receipts_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/receipts"
	"github.com/varvedb/varve/store/mem"
)

var statement = receipts.Receipt{
	Tenant: "default", Stream: "weather", Device: "sensor_01", Readings: 2, Digest: "RvqgRCzA83fxoG_-6ReDFg",
	Windows: []receipts.Window{{From: time.Unix(0, 0).UTC(), To: time.Unix(60, 0).UTC()}}, At: time.Unix(90, 0).UTC(),
}

// TestVerify_AcceptsOnlySignedText signs a receipt with a key of the registry, and changes each character of
// the receipt. Verify must accept only the unchanged receipt.
func TestVerify_AcceptsOnlySignedText(t *testing.T) {
	items := mem.New(nil)
	signer, err := receipts.NewKeyring(items, "").Signer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := signer.Sign(&statement)
	if err != nil {
		t.Fatal(err)
	}
	// Another process with the same registry has the same key.
	other, err := receipts.NewKeyring(items, "").Signer(t.Context())
	if err != nil || other.Key() != signer.Key() {
		t.Fatalf("another process has the key %+v, want %+v: %v", other.Key(), signer.Key(), err)
	}
	got, err := receipts.Verify(text+"\n", other.Key())
	if err != nil || got.Digest != statement.Digest || got.Readings != 2 || !got.Windows[0].To.Equal(statement.Windows[0].To) {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range text {
		changed := []byte(text)
		if changed[i] = 'A'; text[i] == 'A' {
			changed[i] = 'B'
		}
		if r, err := receipts.Verify(string(changed), signer.Key()); err == nil {
			t.Errorf("character %d was changed, and %+v is accepted", i, r)
		}
	}
	stranger, err := receipts.NewKeyring(mem.New(nil), "").Signer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := receipts.Verify(text, stranger.Key()); err == nil || !strings.Contains(err.Error(), signer.Key().ID) {
		t.Errorf("with another key: %v, want the name of the right one", err)
	}
}

func TestKeyring_ReadsFile(t *testing.T) {
	seed := make([]byte, ed25519.SeedSize)
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	for text, want := range map[string]string{
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})): "",
		"":                                   "not PEM",
		"-----BEGIN X-----\n-----END X-----": "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		signer, err := receipts.NewKeyring(mem.New(nil), path).Signer(t.Context())
		switch {
		case strings.Contains(text, "PRIVATE"):
			// The public key of the seed of zeros is well known.
			if err != nil || signer.Key().X != "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik" {
				t.Errorf("%+v, %v", signer, err)
			}
		case err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "openssl"):
			t.Errorf("%q: %v, want an error with %q and a remedy", text, err, want)
		}
	}
}
