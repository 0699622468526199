package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Errors of stores.
var (
	// ErrExists means that an object with the key exists. Nothing was written.
	ErrExists = errors.New("object exists")
	// ErrMissing means that no object has the key.
	ErrMissing = errors.New("object is missing")
)

// Object describes an object.
type Object struct {
	Key    string
	Size   int64
	SHA256 string // checksum in hexadecimal; List may leave it empty
}

// Store stores objects by key. A key consists of parts that slashes separate.
type Store interface {
	// PutNew writes an object, durably and as a whole. It fails with ErrExists if the key is in use.
	// After another error, the object may exist.
	PutNew(ctx context.Context, key string, body []byte) error
	// Get returns the bytes of an object from an offset on. The argument "length" is their number; -1
	// means the rest of the object. Unless the length is 0, Get fails with ErrMissing if the object is
	// missing, and with another error if the object is too short.
	Get(ctx context.Context, key string, offset, length int64) ([]byte, error)
	// Stat returns the size and the checksum of the stored bytes, or ErrMissing.
	Stat(ctx context.Context, key string) (Object, error)
	// List calls the function "each" for each object whose key has the prefix, in any order.
	List(ctx context.Context, prefix string, each func(Object) error) error
	// Delete removes an object. A missing object is not an error.
	Delete(ctx context.Context, key string) error
	// Location returns the folder or the bucket, for messages.
	Location() string
}

// SumOf returns the checksum of a body, in hexadecimal.
func SumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
