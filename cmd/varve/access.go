package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/internal/fileerr"
)

// accessFlags select the API key of a client and the certificates that the client trusts.
type accessFlags struct {
	key, keyFile, caFile string
}

func (f *accessFlags) add(cmd *cobra.Command) {
	// Do not use the environment as the default of the flag. Otherwise --help would show the key.
	cmd.Flags().StringVar(&f.key, "key", "", "API `key`; other users of this machine can see it: prefer VARVE_KEY or --key-file")
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", "`file` with the API key in its first line (VARVE_KEY_FILE)")
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "`file` of certificates in PEM that sign the server's (VARVE_CA_FILE; default: the system's certificates)")
	cmd.MarkFlagsMutuallyExclusive("key", "key-file")
}

func (f *accessFlags) given() bool {
	return f.key != "" || f.keyFile != "" || os.Getenv("VARVE_KEY") != "" || os.Getenv("VARVE_KEY_FILE") != ""
}

// options returns the client's options from the flags, or else from the environment. If a flag
// for the key is set, the variables for the key are ignored.
func (f *accessFlags) options() (options []client.Option, err error) {
	key, file := f.key, f.keyFile
	if key == "" && file == "" {
		if key = os.Getenv("VARVE_KEY"); key == "" {
			file = os.Getenv("VARVE_KEY_FILE")
		}
	}
	if file != "" {
		if key, err = keyIn(file); err != nil {
			return nil, err
		}
	}
	if key != "" {
		options = append(options, client.WithKey(strings.TrimSpace(key)))
	}
	ca := f.caFile
	if ca == "" {
		ca = os.Getenv("VARVE_CA_FILE")
	}
	if ca == "" {
		return options, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, usageError{fmt.Errorf("--ca-file: %w", fileerr.Short(err))}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usageError{fmt.Errorf("--ca-file: %s has no certificate: use certificates in PEM, each with -----BEGIN CERTIFICATE-----", ca)}
	}
	return append(options, client.WithRootCAs(pool)), nil
}

// keyIn returns the first line of a file. Errors never contain the file's text.
func keyIn(name string) (key string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", usageError{fmt.Errorf("--key-file: %w", fileerr.Short(err))}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := bufio.NewScanner(f)
	if in.Scan() {
		key = strings.TrimSpace(in.Text())
	}
	if key == "" {
		return "", usageError{fmt.Errorf("--key-file: the first line of %s is empty: write the key there", name)}
	}
	return key, nil
}

func (a *app) client() (*client.Client, error) {
	options, err := a.access.options()
	if err != nil {
		return nil, err
	}
	c, err := client.New(a.server, options...)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// forbidden replaces an error about a missing or invalid API key with one that has a remedy.
func (a *app) forbidden(err error) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Forbidden || !strings.Contains(e.Message, "valid API key") {
		return err
	}
	return fmt.Errorf("%s requires a valid API key: give it in VARVE_KEY, or with --key-file", a.server)
}

// untrusted adds the remedy to an error about the certificate of a server.
func untrusted(err error) error {
	var bad *tls.CertificateVerificationError
	if !errors.As(err, &bad) {
		return err
	}
	return fmt.Errorf("%w: name the file of its certificate authority with --ca-file", err)
}
