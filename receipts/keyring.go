package receipts

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Keyring provides the key that signs receipts. It is safe for concurrent use.
type Keyring struct {
	items store.Items
	file  string
	mu    sync.Mutex
	ready *Signer
}

// NewKeyring returns a keyring. If the argument "file" is empty, the key is in the registry, and is
// created when it is used for the first time. Processes that share a registry share the key.
func NewKeyring(items store.Items, file string) *Keyring { return &Keyring{items: items, file: file} }

// Signer returns the signer. It reads or creates the key when it is called for the first time.
func (k *Keyring) Signer(ctx context.Context) (*Signer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ready != nil {
		return k.ready, nil
	}
	read := k.readItem
	if k.file != "" {
		read = k.readFile
	}
	key, err := read(ctx)
	if err != nil {
		return nil, fmt.Errorf("key of receipts: %w", err)
	}
	k.ready = &Signer{key}
	return k.ready, nil
}

func (k *Keyring) readFile(context.Context) (ed25519.PrivateKey, error) { return ReadKeyFile(k.file) }

// ReadKeyFile reads a private key in PEM, as openssl genpkey -algorithm ed25519 creates it.
func ReadKeyFile(path string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const remedy = "use a file of openssl genpkey -algorithm ed25519"
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: not PEM: %s", path, remedy)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", path, err, remedy)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: not a key on Ed25519: %s", path, remedy)
	}
	return private, nil
}

// itemKey is the key of the item with the seed of the private key.
var itemKey = store.Key{PK: "RECEIPTS", SK: "KEY"}

const attrSeed = "seed"

// readItem returns the private key of the registry. If the key is missing, readItem creates it.
func (k *Keyring) readItem(ctx context.Context) (ed25519.PrivateKey, error) {
	for {
		found, err := k.items.Get(ctx, []store.Key{itemKey}, true)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			seed, err := encoding.DecodeString(found[0].Attrs[attrSeed].Text())
			if err != nil || len(seed) != ed25519.SeedSize {
				return nil, fmt.Errorf("item %s %s: %s is not a seed", itemKey.PK, itemKey.SK, attrSeed)
			}
			return ed25519.NewKeyFromSeed(seed), nil
		}
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		item := store.Item{Key: itemKey, Attrs: map[string]varve.Value{attrSeed: varve.StringValue(encoding.EncodeToString(key.Seed()))}}
		switch err := k.items.Put(ctx, item, store.IfAbsent()); {
		case err == nil:
			return key, nil
		case !errors.Is(err, store.ErrCondition):
			return nil, err
		}
		// Another process has created the key.
	}
}
