package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"github.com/varvedb/varve/tests/varvetest"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a self-signed certificate for 127.0.0.1 and its private key into a
// folder.
func writeCertificate(t *testing.T, dir string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// trusting returns a client that trusts one certificate and opens a new connection for each
// request.
func trusting(cert *x509.Certificate) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true, ForceAttemptHTTP2: true,
	}}
}

// varve runs a varve command in a folder. It returns the output, and whether the command
// succeeded.
func varve(t *testing.T, dir string, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	return out.String(), errs.String(), err == nil
}

// adminKey creates the first API key for the data folder in dir, writes the key to a file, and
// returns the key.
func adminKey(t *testing.T, dir string) (key string) {
	t.Helper()
	key, said, ok := varve(t, dir, "keys", "create", "--data", "data", "--scope", "admin")
	if !ok {
		t.Fatal(said)
	}
	write(t, filepath.Join(dir, "admin.key"), []byte(key))
	return strings.TrimSpace(key)
}

// startAt starts a server, which ends with the test.
func startAt(t *testing.T, dir string, reach varvetest.Reach, args ...string) *varvetest.Server {
	t.Helper()
	s, err := varvetest.StartAt(t.Context(), binary, dir, reach, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestTLS_ServesWithKeys checks a server that other hosts can reach. The server has API keys and TLS. The
// test writes and reads readings over HTTP/2, with a client that trusts the configured certificate. If
// the files of the certificate change, the server must use the new certificate for the next connection,
// unless it cannot read the files.
func TestTLS_ServesWithKeys(t *testing.T) {
	dir := t.TempDir()
	key := adminKey(t, dir)
	first := writeCertificate(t, dir, 1)
	s := startAt(t, dir, varvetest.Reach{Listen: "0.0.0.0", TLS: trusting(first)}, "--data", "data",
		"--set", "server.tls_cert=cert.pem", "--set", "server.tls_key=key.pem")
	if strings.Contains(s.Output(), "in the clear") {
		t.Errorf("keys are said to travel in the clear:\n%s", s.Output())
	}
	cbc := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	}}
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), cbc); err == nil {
		conn.Close()
		t.Error("a cipher suite with CBC is taken")
	}
	write(t, filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Raw}))
	write(t, filepath.Join(dir, "r.ndjson"), []byte(`{"device":"d","time":"2026-01-01T00:00:00Z","fields":{"a":1}}`+"\n"))
	remote := []string{"--server", s.URL, "--key-file", "admin.key", "--ca-file", "ca.pem"}
	if out, said, ok := varve(t, dir, append([]string{"ingest", "--stream", "weather", "r.ndjson"}, remote...)...); !ok || !strings.Contains(out, "1 stored") {
		t.Errorf("%s%s", out, said)
	}
	if out, said, ok := varve(t, dir, append([]string{"query", "weather", "d"}, remote...)...); !ok || !strings.Contains(out, "a=1") {
		t.Errorf("%s%s", out, said)
	}
	if _, said, ok := varve(t, dir, "streams", "--server", s.URL, "--key-file", "admin.key"); ok || !strings.Contains(said, "is not trusted") || !strings.Contains(said, "--ca-file") {
		t.Errorf("an untrusted server: %s, want a refusal", said)
	}

	get := func(c *http.Client) (*http.Response, string) {
		t.Helper()
		return getReadings(t, c, s.URL, key)
	}
	if resp, body := get(trusting(first)); resp.ProtoMajor != 2 || !strings.Contains(body, `"a":1`) {
		t.Errorf("%s %s", resp.Proto, body)
	}
	second := writeCertificate(t, dir, 2)
	if resp, _ := get(trusting(second)); resp.TLS.PeerCertificates[0].SerialNumber.Int64() != 2 {
		t.Error("the certificate before is used")
	}
	write(t, filepath.Join(dir, "cert.pem"), []byte("nothing"))
	for range 3 {
		get(trusting(second))
	}
	if n := strings.Count(s.Output(), "certificate not reloaded"); n != 1 {
		t.Errorf("told %d times of a certificate that cannot be read:\n%s", n, s.Output())
	}
	if strings.Contains(s.Output(), key[:20]) {
		t.Error("the key is in the log")
	}
}

func getReadings(t *testing.T, c *http.Client, url, key string) (resp *http.Response, body string) {
	t.Helper()
	return get(t, c, url+"/v1/streams/weather/devices/d/readings", key)
}

func getStreams(t *testing.T, c *http.Client, url, key string) (resp *http.Response, body string) {
	t.Helper()
	return get(t, c, url+"/v1/streams", key)
}

func get(t *testing.T, c *http.Client, url, key string) (resp *http.Response, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err = c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", resp.StatusCode, text, err)
	}
	return resp, string(text)
}

// TestTLS_WarnsOfKeysInTheClear checks that the server warns if API keys are accepted over plain
// HTTP. It must not warn if a proxy terminates TLS.
func TestTLS_WarnsOfKeysInTheClear(t *testing.T) {
	dir := t.TempDir()
	key := adminKey(t, dir)
	for _, proxied := range []string{"false", "true"} {
		s := startAt(t, dir, varvetest.Reach{Listen: "0.0.0.0"}, "--data", "data", "--set", "server.proxied="+proxied)
		// Wait for the warning. The server writes it before it is ready, but the output may arrive later
		// through its pipe.
		warned := func() bool { return strings.Contains(s.Output(), "API keys accepted without TLS") }
		if proxied == "false" && !varvetest.Eventually(warned) || proxied == "true" && warned() {
			t.Errorf("proxied %s: warned is %v\n%s", proxied, warned(), s.Output())
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/tables", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "varve.example.com" // not one of the configured names
		if status, text, err := do(req); err != nil || status != http.StatusUnauthorized {
			t.Errorf("without a key: %d %s %v", status, text, err)
		}
		req.Header.Set("X-API-Key", key)
		if status, text, err := do(req); err != nil || status != http.StatusOK {
			t.Errorf("with a key: %d %s %v", status, text, err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err, s.Output())
		}
	}
}
