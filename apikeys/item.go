package apikeys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	partition = "KEYS"
	onKey     = "ON" // not an id, because ids have lowercase letters
)

// Attributes of a key's item. Times are RFC 3339, to the millisecond.
const (
	attrHash     = "hash" // SHA-256 of the key's text, in hexadecimal
	attrTenant   = "tenant"
	attrScope    = "scope"
	attrName     = "name"
	attrCreated  = "created"
	attrExpires  = "expires"
	attrRevoked  = "revoked"
	attrRequests = "requests" // limit of requests per second
	attrReadings = "readings"
	attrSince    = "since" // time from which requests need a key; only in the item KEYS ON
)

// listEndedFor is the time for which a key is listed after its end.
const listEndedFor = 90 * 24 * time.Hour

func keyOf(id string) store.Key { return store.Key{PK: partition, SK: id} }

type stored struct {
	Key
	hash [sha256.Size]byte
}

const timeForm = "2006-01-02T15:04:05.000Z07:00"

func (s *stored) item() (store.Item, error) {
	it := store.Item{Key: keyOf(s.ID), Attrs: map[string]varve.Value{
		attrHash:   varve.StringValue(hex.EncodeToString(s.hash[:])),
		attrTenant: varve.StringValue(s.Tenant),
		attrScope:  varve.StringValue(s.Scopes.String()),
		attrName:   varve.StringValue(s.Name),
	}}
	for name, t := range map[string]time.Time{attrCreated: s.Created, attrExpires: s.Expires, attrRevoked: s.Revoked} {
		if !t.IsZero() {
			it.Attrs[name] = varve.StringValue(t.UTC().Format(timeForm))
		}
	}
	for name, perSecond := range map[string]float64{attrRequests: s.Rate.Requests, attrReadings: s.Rate.Readings} {
		if perSecond == 0 {
			continue
		}
		n, err := decimal.FromFloat(perSecond)
		if err != nil {
			return it, fmt.Errorf("key %s: %s: %w", s.ID, name, err)
		}
		it.Attrs[name] = varve.NumberValue(n)
	}
	if ended := s.ended(); !ended.IsZero() {
		it.Expires = ended.Add(listEndedFor)
	}
	return it, nil
}

// ended returns the end of the key; the zero time means never.
func (s *stored) ended() time.Time {
	if !s.Revoked.IsZero() {
		return s.Revoked
	}
	return s.Expires
}

func decode(it *store.Item) (*stored, error) {
	text := func(name string) string { return it.Attrs[name].Text() }
	s := &stored{Key: Key{ID: it.SK, Tenant: text(attrTenant), Name: text(attrName)}}
	wrong := func(attr string, err error) (*stored, error) {
		return nil, fmt.Errorf("item %s %s: %s: %w", it.PK, it.SK, attr, err)
	}
	hash, err := hex.DecodeString(text(attrHash))
	if err != nil || len(hash) != len(s.hash) {
		return wrong(attrHash, fmt.Errorf("SHA-256 has %d bytes", len(hash)))
	}
	copy(s.hash[:], hash)
	if s.Scopes, err = ParseScopes(strings.Split(text(attrScope), ",")...); err != nil {
		return wrong(attrScope, err)
	}
	for name, at := range map[string]*time.Time{attrCreated: &s.Created, attrExpires: &s.Expires, attrRevoked: &s.Revoked} {
		if v, ok := it.Attrs[name]; ok {
			if *at, err = registry.ParseStored(time.RFC3339, v.Text()); err != nil {
				return wrong(name, err)
			}
		}
	}
	for name, to := range map[string]*float64{attrRequests: &s.Rate.Requests, attrReadings: &s.Rate.Readings} {
		if v, ok := it.Attrs[name]; ok {
			*to = v.Number().Float64()
		}
	}
	return s, nil
}
