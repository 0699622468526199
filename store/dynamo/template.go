package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Template says how time tables are made and tuned. It is the item of the
// registry under [TemplateKey], JSON in the attribute [TemplateAttr], where
// Terraform puts it; without it the zero Template holds. It is read each time a
// table is made or tuned, so that a change is in force for the next tables, and
// those that there are stay as they are.
type Template struct {
	Settings
	// Classes holds what is different for the tables of a retention class, by
	// its name. A field that is set replaces the general one; tags are added.
	Classes map[string]Settings `json:"classes,omitempty"`
}

// Settings are those of a table.
type Settings struct {
	// Billing is "on_demand", the default, or "provisioned".
	Billing string `json:"billing,omitempty"`
	// Capacity is what a provisioned table has, by tier: "hot", "warm" and
	// "cold". Without one for cold, tables go on demand when they are sealed.
	Capacity map[string]Capacity `json:"capacity,omitempty"`
	// TableClass is "standard", the default, or "standard_infrequent_access",
	// by tier.
	TableClass map[string]string `json:"table_class,omitempty"`
	// KMSKey is the ARN of the key that encrypts tables; "": one of AWS's own.
	KMSKey string `json:"kms_key,omitempty"`
	// PointInTimeRecovery is whether tables can be restored to any second of
	// the last days. Nil is false.
	PointInTimeRecovery *bool `json:"point_in_time_recovery,omitempty"`
	// DeletionProtection is whether tables are protected until right before
	// they are dropped. Nil is true.
	DeletionProtection *bool `json:"deletion_protection,omitempty"`
	// Tags are tables' tags besides the owner tag.
	Tags map[string]string `json:"tags,omitempty"`
}

// Capacity is read and write units a second.
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

// TemplateAttr is the template's attribute in its item, a string.
const TemplateAttr = "template"

// TemplateKey returns the key of the template's item.
func TemplateKey() store.Key { return store.Key{PK: "TEMPLATE", SK: "TABLES"} }

// ParseTemplate reads a template and checks it. Unknown fields are mistakes.
func ParseTemplate(text []byte) (Template, error) {
	var t Template
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return t, fmt.Errorf("table template: %w", err)
	}
	if dec.More() {
		return t, errors.New("table template: something follows it")
	}
	if err := t.Validate(); err != nil {
		return t, fmt.Errorf("table template: %w", err)
	}
	return t, nil
}

// Validate reports everything that is wrong with the template.
func (t *Template) Validate() error {
	errs := t.validate("")
	for _, class := range slices.Sorted(maps.Keys(t.Classes)) {
		merged := t.Of(class)
		errs = append(errs, merged.validate("classes."+class+".")...)
	}
	return errors.Join(errs...)
}

func (s *Settings) validate(at string) (errs []error) {
	bad := func(field, format string, args ...any) {
		errs = append(errs, varve.InvalidParam(at+field, format, args...))
	}
	if s.Billing != "" && s.Billing != OnDemand && s.Billing != Provisioned {
		bad("billing", "%q is neither %s nor %s", s.Billing, OnDemand, Provisioned)
	}
	for name, c := range s.Capacity {
		if tierNamed(name) == 0 {
			bad("capacity."+name, "is no tier: use hot, warm and cold")
		}
		if c.Read < 1 || c.Write < 1 {
			bad("capacity."+name, "%d read and %d write units are too few: 1 is the least", c.Read, c.Write)
		}
	}
	for _, tier := range []store.Tier{store.Hot, store.Warm} {
		if _, there := s.Capacity[tier.String()]; s.Billing == Provisioned && !there {
			bad("capacity."+tier.String(), "is missing, and billing is provisioned")
		}
	}
	for name, class := range s.TableClass {
		if tierNamed(name) == 0 {
			bad("table_class."+name, "is no tier: use hot, warm and cold")
		}
		if class != Standard && class != InfrequentAccess {
			bad("table_class."+name, "%q is neither %s nor %s", class, Standard, InfrequentAccess)
		}
	}
	for key := range s.Tags {
		if key == OwnerTag || strings.HasPrefix(key, "aws:") || key == "" {
			bad("tags", "%q cannot be a tag of yours", key)
		}
	}
	return errs
}

var tiers = []store.Tier{store.Hot, store.Warm, store.Cold}

// tierNamed returns the tier of a name; 0 if there is none.
func tierNamed(name string) store.Tier {
	for _, t := range tiers {
		if t.String() == name {
			return t
		}
	}
	return 0
}

// Of returns the settings of a class's tables.
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

func (s *Settings) protected() bool { return s.DeletionProtection == nil || *s.DeletionProtection }

func (s *Settings) recoverable() bool {
	return s.PointInTimeRecovery != nil && *s.PointInTimeRecovery
}

func (s *Settings) tableClass(tier store.Tier) string {
	if c := s.TableClass[tier.String()]; c != "" {
		return c
	}
	return Standard
}

// template returns the template that the registry holds now.
func (s *Store) template(ctx context.Context) (Template, error) {
	items, err := s.getSome(ctx, []store.Key{TemplateKey()}, true, nil)
	if err != nil || len(items) == 0 {
		return Template{}, err
	}
	return ParseTemplate([]byte(items[0].Attrs[TemplateAttr].Text()))
}
