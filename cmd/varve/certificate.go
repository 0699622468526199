package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/varvedb/varve/internal/fileerr"
)

// certificate is the TLS certificate of the server. It is reloaded when its files change. If a changed
// file cannot be read, the failure is logged once and the current certificate stays in use.
type certificate struct {
	cert, key string // paths of the files
	log       zerolog.Logger

	mu      sync.Mutex
	now     *tls.Certificate // the certificate in use
	version fileVersion      // version of the files from which that certificate was read
}

// fileVersion identifies a version of the certificate's file and the key's file.
type fileVersion struct {
	certAt, keyAt     time.Time
	certSize, keySize int64
}

func openCertificate(cert, key string, log zerolog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log}
	v, err := c.statFiles()
	if err != nil {
		return nil, err
	}
	return c, c.read(v)
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: cipherSuites(), GetCertificate: c.get}
}

// cipherSuites returns the suites of TLS 1.2 with authenticated encryption: Go's defaults without
// CBC. All suites of TLS 1.3 have authenticated encryption.
func cipherSuites() (ids []uint16) {
	for _, suite := range tls.CipherSuites() {
		if !strings.Contains(suite.Name, "_CBC_") {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.statFiles()
	if err == nil && v != c.version {
		if err = c.read(v); err == nil {
			c.log.Info().Str("file", c.cert).Msg("certificate reloaded")
		}
	}
	if err != nil && v != c.version {
		c.log.Error().Err(err).Msg("certificate not reloaded")
		c.version = v
	}
	return c.now, nil
}

// reload reads the certificate from the given files, which may differ from the current ones. If it
// cannot be read, the current certificate and its files stay in use.
func (c *certificate) reload(cert, key string) error {
	changed, err := openCertificate(cert, key, c.log)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cert, c.key, c.now, c.version = cert, key, changed.now, changed.version
	return nil
}

// statFiles returns the version of the files. It fails if one of them cannot be accessed.
func (c *certificate) statFiles() (v fileVersion, err error) {
	cert, err := os.Stat(c.cert)
	if err != nil {
		return v, fmt.Errorf("server.tls_cert: %w", fileerr.Short(err))
	}
	key, err := os.Stat(c.key)
	if err != nil {
		return v, fmt.Errorf("server.tls_key: %w", fileerr.Short(err))
	}
	return fileVersion{cert.ModTime(), key.ModTime(), cert.Size(), key.Size()}, nil
}

func (c *certificate) read(v fileVersion) error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("server.tls_cert %s and server.tls_key %s: %w", c.cert, c.key, err)
	}
	c.now, c.version = &pair, v
	return nil
}
