package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

// TestReload_ReplacesCertificate configures the files of another certificate. After SIGHUP, the
// server must use it. If the configured files cannot be read, the server must continue to use its
// certificate.
func TestReload_ReplacesCertificate(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	key := adminKey(t, dir)
	config := func(folder string) {
		write(t, filepath.Join(dir, "varve.yaml"), []byte("server: {tls_cert: "+filepath.Join(folder, "cert.pem")+", tls_key: "+filepath.Join(folder, "key.pem")+"}\n"))
	}
	config(dir)
	first, second := writeCertificate(t, dir, 1), writeCertificate(t, other, 2)
	s := startAt(t, dir, varvetest.Reach{TLS: trusting(first)}, "--data", "data")
	if resp, _ := getStreams(t, trusting(first), s.URL, key); resp.TLS.PeerCertificates[0].SerialNumber.Int64() != 1 {
		t.Fatal("the server does not use the first certificate")
	}
	reload := func(folder, logged string) {
		t.Helper()
		config(folder)
		if err := s.Hangup(); err != nil {
			t.Fatal(err)
		}
		if !varvetest.Eventually(func() bool { return strings.Contains(s.Output(), logged) }) {
			t.Fatalf("the log has no %q:\n%s", logged, s.Output())
		}
	}
	reload(other, "server.tls_cert")
	if resp, _ := getStreams(t, trusting(second), s.URL, key); resp.TLS.PeerCertificates[0].SerialNumber.Int64() != 2 {
		t.Error("the server does not use the second certificate after SIGHUP")
	}
	reload(t.TempDir(), "certificate not reloaded on request")
	if resp, _ := getStreams(t, trusting(second), s.URL, key); resp.TLS.PeerCertificates[0].SerialNumber.Int64() != 2 {
		t.Error("the certificate is replaced by one that cannot be read")
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
