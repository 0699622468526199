package agent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
)

// leastKey is the minimum length of a local key in bytes.
const leastKey = 16

// keyRing has the hashes of the keys of local devices. It implements mqtt.KeyChecker.
type keyRing struct{ sums [][sha256.Size]byte }

// readKeys reads the file of the setting http.keys_file. Without a file, no key is needed.
func readKeys(file string) (*keyRing, error) {
	ring := &keyRing{}
	if file == "" {
		return ring, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("http.keys_file: %w", err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case len(line) < leastKey:
			return nil, fmt.Errorf("http.keys_file: %s:%d: the key is too short: use at least %d characters", file, i+1, leastKey)
		default:
			ring.sums = append(ring.sums, sha256.Sum256([]byte(line)))
		}
	}
	if len(ring.sums) == 0 {
		return nil, fmt.Errorf("http.keys_file: %s has no keys: write one per line", file)
	}
	return ring, nil
}

// On reports whether a key is needed.
func (r *keyRing) On(context.Context) (bool, error) { return len(r.sums) > 0, nil }

// Check returns the grant of a local key, which permits writes only.
func (r *keyRing) Check(_ context.Context, text string) (*apikeys.Grant, error) {
	sum, found := sha256.Sum256([]byte(text)), 0
	for i := range r.sums {
		found |= subtle.ConstantTimeCompare(r.sums[i][:], sum[:])
	}
	if found == 0 {
		return nil, apikeys.ErrNone
	}
	return writer, nil
}

// writer is the grant of all local devices. The server replaces the tenant with the tenant of the
// agent's API key.
var writer = &apikeys.Grant{Tenant: varve.DefaultTenant, Scopes: apikeys.Write}
