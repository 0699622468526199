// Package template defines the table template, which states how tables are created.
//
//	registry item TEMPLATE TABLES, attribute "template"
//	    Parse → Template   Of(class) → Settings of the tables of a class
//
// [Template] is the document, [Parse] decodes it, and [Template.Of] returns the [Settings] of a
// class.
//
// The package sends no requests. Terraform writes the item. Package tables reads it whenever it
// creates, tunes or scales tables. So a change of the template applies to tables that are created,
// tuned or scaled later.
//
// A Template that Parse returns is valid for every class. If the JSON text has the form of a
// Template, Parse reports all mistakes in one error.
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

// Template defines how tables are created and tuned. If the registry has no template, the
// zero Template applies.
type Template struct {
	Settings
	// Classes has settings for the tables of single retention classes, by name. A field that is
	// set replaces the general field. In a map, such as Tags or Capacity, only the given entries
	// are added or replaced.
	Classes map[string]Settings `json:"classes,omitempty"`
}

// Settings are the settings of the tables of one class, or the general settings of all tables.
type Settings struct {
	// Billing is "on_demand", the default, or "provisioned".
	Billing string `json:"billing,omitempty"`
	// Capacity is the capacity of provisioned tables by tier. The tiers are "hot", "warm" and
	// "cold". If cold is missing, tables become on-demand when they are sealed.
	Capacity map[string]Capacity `json:"capacity,omitempty"`
	// CapacityMax is the largest capacity to which provisioned tables are scaled, by tier. For these
	// tiers, Capacity is the smallest capacity. Tables of other tiers are not scaled.
	CapacityMax map[string]Capacity `json:"capacity_max,omitempty"`
	// TableClass is the table class by tier: "standard", the default, or
	// "standard_infrequent_access".
	TableClass map[string]string `json:"table_class,omitempty"`
	// KMSKey is the ARN of the key that encrypts tables. If empty, a key of AWS is used.
	KMSKey string `json:"kms_key,omitempty"`
	// PointInTimeRecovery turns on backups from which a table can be restored to any second of the
	// last 35 days. If nil, they are off.
	PointInTimeRecovery *bool `json:"point_in_time_recovery,omitempty"`
	// DeletionProtection protects tables until the rotator drops them. If nil, it is on.
	DeletionProtection *bool `json:"deletion_protection,omitempty"`
	// Tags are tags of tables, in addition to the owner tag.
	Tags map[string]string `json:"tags,omitempty"`
}

// Capacity is a number of read and write units per second.
type Capacity struct {
	Read  int64 `json:"read"`
	Write int64 `json:"write"`
}

// Values of Settings.Billing and Settings.TableClass.
const (
	OnDemand         = "on_demand"
	Provisioned      = "provisioned"
	Standard         = "standard"
	InfrequentAccess = "standard_infrequent_access"
)

// Attr is the attribute of the item with the JSON text of the template.
const Attr = "template"

// Key returns the key of the item in the registry.
func Key() store.Key { return store.Key{PK: "TEMPLATE", SK: "TABLES"} }

// Parse decodes a template and checks it. It fails for unknown fields.
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

// Of returns the settings for the tables of a retention class.
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
	s.CapacityMax = merged(s.CapacityMax, own.CapacityMax)
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

// IsProtected reports whether deletion protection is on.
func (s *Settings) IsProtected() bool { return s.DeletionProtection == nil || *s.DeletionProtection }

// IsRecoverable reports whether point-in-time recovery is on.
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

// CapacityOf returns the capacity of a tier, or false if tables of the tier are on-demand.
func (s *Settings) CapacityOf(tier store.Tier) (c Capacity, provisioned bool) {
	c, ok := s.Capacity[tier.String()]
	return c, ok && s.Billing == Provisioned
}

// Scaling returns the smallest and the largest capacity of tables of a tier, or false if they are
// not scaled.
func (s *Settings) Scaling(tier store.Tier) (least, most Capacity, scaled bool) {
	least, provisioned := s.CapacityOf(tier)
	most, scaled = s.CapacityMax[tier.String()]
	return least, most, scaled && provisioned
}

// Scales reports whether tables of any class are scaled.
func (t *Template) Scales() bool {
	for _, class := range append(slices.Collect(maps.Keys(t.Classes)), "") {
		s := t.Of(class)
		for _, tier := range Tiers() {
			if _, _, scaled := s.Scaling(tier); scaled {
				return true
			}
		}
	}
	return false
}

// Tiers returns all tiers that settings may use.
func Tiers() []store.Tier { return []store.Tier{store.Hot, store.Warm, store.Cold} }

func isTier(name string) bool {
	return slices.ContainsFunc(Tiers(), func(t store.Tier) bool { return t.String() == name })
}
