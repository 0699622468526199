// Package template has the table template, which states how time tables are created.
//
//	registry item TEMPLATE TABLES, attribute "template"
//	    ParseTemplate → Template   Of(class) → Settings of one table
//
// The package is pure. Terraform writes the item; package tables reads it whenever it
// creates or tunes a table. So a change applies to later tables, and existing ones stay.
//
// Invariant: a Template that Parse returns is valid, for every class. Parse reports all
// mistakes at once.
package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/varvedb/varve/store"
)

// Template states how time tables are created and tuned. Without an item in the registry,
// the zero Template applies.
type Template struct {
	Settings
	// Classes holds the differences for the tables of a retention class, by its name. A
	// field that is set replaces the general one. Tags are added.
	Classes map[string]Settings `json:"classes,omitempty"`
}

// Settings are the settings of one table.
type Settings struct {
	// Billing is "on_demand", the default, or "provisioned".
	Billing string `json:"billing,omitempty"`
	// Capacity holds the capacity of provisioned tables, by tier. Tiers are "hot", "warm"
	// and "cold". Without one for cold, tables become on-demand when they are sealed.
	Capacity map[string]Capacity `json:"capacity,omitempty"`
	// TableClass is "standard", the default, or "standard_infrequent_access", by tier.
	TableClass map[string]string `json:"table_class,omitempty"`
	// KMSKey is the ARN of the key that encrypts tables. If empty, AWS owns the key.
	KMSKey string `json:"kms_key,omitempty"`
	// PointInTimeRecovery states whether tables can be restored to any second of the last
	// days. If nil, they cannot.
	PointInTimeRecovery *bool `json:"point_in_time_recovery,omitempty"`
	// DeletionProtection states whether tables are protected until they are dropped. If
	// nil, they are.
	DeletionProtection *bool `json:"deletion_protection,omitempty"`
	// Tags are tags of tables, besides the owner tag.
	Tags map[string]string `json:"tags,omitempty"`
}

// Capacity is a number of read and write units per second.
type Capacity struct {
	Read  int64 `json:"read"`
	Write int64 `json:"write"`
}

// Values of Settings.
const (
	OnDemand         = "on_demand"
	Provisioned      = "provisioned"
	Standard         = "standard"
	InfrequentAccess = "standard_infrequent_access"
)

// Attr is the attribute of the item that holds the JSON text.
const Attr = "template"

// Key returns the key of the item in the registry.
func Key() store.Key { return store.Key{PK: "TEMPLATE", SK: "TABLES"} }

// Parse decodes a template and checks it. Unknown fields are mistakes.
func Parse(text []byte) (Template, error) {
	var t Template
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return t, fmt.Errorf("table template: %w", err)
	}
	if dec.More() {
		return t, errors.New("table template: text follows the JSON object: remove it")
	}
	if err := t.Validate(); err != nil {
		return t, fmt.Errorf("table template: %w", err)
	}
	return t, nil
}

// Of returns the settings of the tables of a class.
func (t *Template) Of(class string) Settings {
	s, own := t.Settings, t.Classes[class]
	if own.Billing != "" {
		s.Billing = own.Billing
	}
	if own.KMSKey != "" {
		s.KMSKey = own.KMSKey
	}
	if own.PointInTimeRecovery != nil {
		s.PointInTimeRecovery = own.PointInTimeRecovery
	}
	if own.DeletionProtection != nil {
		s.DeletionProtection = own.DeletionProtection
	}
	s.Capacity = merged(s.Capacity, own.Capacity)
	s.TableClass = merged(s.TableClass, own.TableClass)
	s.Tags = merged(s.Tags, own.Tags)
	return s
}

func merged[V any](general, own map[string]V) map[string]V {
	m := maps.Clone(general)
	if m == nil {
		m = map[string]V{}
	}
	maps.Copy(m, own)
	return m
}

// IsProtected reports whether tables have deletion protection.
func (s *Settings) IsProtected() bool { return s.DeletionProtection == nil || *s.DeletionProtection }

// IsRecoverable reports whether tables have point-in-time recovery.
func (s *Settings) IsRecoverable() bool {
	return s.PointInTimeRecovery != nil && *s.PointInTimeRecovery
}

// ClassOf returns the table class of a tier: Standard or InfrequentAccess.
func (s *Settings) ClassOf(tier store.Tier) string {
	if c := s.TableClass[tier.String()]; c != "" {
		return c
	}
	return Standard
}

// CapacityOf returns the capacity of a tier, or false if its tables are on-demand.
func (s *Settings) CapacityOf(tier store.Tier) (c Capacity, provisioned bool) {
	c, ok := s.Capacity[tier.String()]
	return c, ok && s.Billing == Provisioned
}

// Tiers returns the tiers that settings can name.
func Tiers() []store.Tier { return []store.Tier{store.Hot, store.Warm, store.Cold} }

func isTier(name string) bool {
	return slices.ContainsFunc(Tiers(), func(t store.Tier) bool { return t.String() == name })
}
