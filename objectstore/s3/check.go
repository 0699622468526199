package s3

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve/objectstore"
)

// firstCheck is the time limit of the check at Open with Options.Postpone.
const firstCheck = 10 * time.Second

// check is the state of the check of a service.
type check struct {
	mu     sync.Mutex // locked during a check
	done   bool
	reason error // why Open postponed the check, or nil
}

// Postponed returns the reason why Open postponed the check of the service, or nil.
func (b *Bucket) Postponed() error { return b.check.reason }

// checkFirst checks the service at Open. With Options.Postpone, it postpones the check if the service cannot be reached.
func (b *Bucket) checkFirst(ctx context.Context) error {
	if !b.opts.Postpone {
		return b.ensureChecked(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, firstCheck)
	defer cancel()
	err := b.ensureChecked(limited)
	if err != nil && ctx.Err() == nil && isUnreachable(err) {
		b.check.reason, err = err, nil
	}
	return err
}

// ensureChecked checks the service, unless an earlier check succeeded.
func (b *Bucket) ensureChecked(ctx context.Context) error {
	b.check.mu.Lock()
	defer b.check.mu.Unlock()
	if b.check.done {
		return nil
	}
	if err := b.probe(ctx); err != nil {
		return fmt.Errorf("check the service: %w", err)
	}
	b.check.done = true
	return nil
}

// isUnreachable reports whether an error is of the network or of the state of the service. Other errors have an answer of
// the service that shows a wrong setting, or are results of the check.
func isUnreachable(err error) bool {
	var result checkError
	s := status(err)
	return !errors.As(err, &result) && (s == 0 || s == http.StatusTooManyRequests || s >= http.StatusInternalServerError && s != http.StatusNotImplemented)
}

// checkError is a result of the check: the service lacks a property that archives need.
type checkError string

func (e checkError) Error() string { return string(e) }

// probe fails if the service replaces objects, does not store checksums, or stores bytes that do not
// match their checksum.
func (b *Bucket) probe(ctx context.Context) (err error) {
	key := strings.TrimPrefix(b.opts.Prefix+"/varve-probe-"+rand.Text(), "/")
	body := []byte("Varve checks that this bucket never replaces objects.\n")
	if err := b.putNew(ctx, key, body); err != nil {
		return fmt.Errorf("write a first object: %w", err)
	}
	defer func() { err = errors.Join(err, b.Delete(ctx, key)) }()
	switch err := b.putNew(ctx, key, body); {
	case err == nil:
		return checkError("the service replaces objects although If-None-Match forbids it: use another service")
	case !errors.Is(err, objectstore.ErrExists):
		return fmt.Errorf("write the first object again: %w", err)
	}
	o, err := b.Stat(ctx, key)
	if err != nil {
		return err
	}
	if o.SHA256 != objectstore.SumOf(body) {
		return checkError("the service does not store SHA-256 checksums: use another service")
	}
	wrong := sha256.Sum256([]byte("other"))
	other := key + "-wrong"
	switch err := b.put(ctx, other, body, wrong, rand.Text()); {
	case err == nil:
		return errors.Join(checkError("the service does not compare checksums: use another service"), b.Delete(ctx, other))
	case isUnreachable(err):
		return fmt.Errorf("write an object with a wrong checksum: %w", err)
	default:
		return nil
	}
}
