package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// outagePause is the time between the requests of --follow during an outage. Each request is already
// retried by the client.
const outagePause = time.Second

// changePages reads whole pages of changes.
type changePages struct {
	client *client.Client
	format wire.Format
	log    io.Writer // receives a line about each outage
	cursor string    // the change cursor after the last printed page; "" before it
}

// read returns a page and its text. If the argument follow is set and a page was printed before, it
// retries during an outage until ctx ends. Before the first page, the address may be wrong.
func (c *changePages) read(ctx context.Context, q client.ChangesQuery, follow bool) (p client.ChangesPage, text []byte, err error) {
	for tries := 0; ; tries++ {
		p, text, err = c.readOnce(ctx, q)
		var out outage
		if !errors.As(err, &out) || !follow || c.cursor == "" || ctx.Err() != nil {
			return p, text, err
		}
		if tries == 0 {
			fmt.Fprintf(c.log, "Retrying: %s\n", oneLine(err))
		}
		select {
		case <-time.After(outagePause):
		case <-ctx.Done():
			return p, nil, err
		}
	}
}

func (c *changePages) readOnce(ctx context.Context, q client.ChangesQuery) (p client.ChangesPage, text []byte, err error) {
	resp, err := c.client.RawChanges(ctx, q, c.format)
	if err != nil {
		return p, nil, asOutage(err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if text, err = io.ReadAll(resp.Body); err != nil {
		return p, nil, asOutage(fmt.Errorf("the answer is incomplete: %w", err))
	}
	p, err = client.PageOf(resp)
	return p, text, err
}

// outage is an error of a request that may succeed later.
type outage struct{ error }

func (o outage) Unwrap() error { return o.error }

// asOutage returns an error as an outage, unless the server refused the request or its certificate is
// not trusted.
func asOutage(err error) error {
	var refusal *varve.Error
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return err
	case errors.As(err, &refusal) && refusal.Failure != varve.Busy && refusal.Failure != varve.Unavailable:
		return err
	}
	return outage{err}
}
