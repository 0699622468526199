package template

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// reservedTag is a tag that only the store may set.
const reservedTag = "varve:owner"

// Validate returns all mistakes in the template, joined into one error.
func (t *Template) Validate() error {
	errs := t.validate("")
	for _, class := range slices.Sorted(maps.Keys(t.Classes)) {
		merged := t.Of(class)
		errs = append(errs, merged.validate("classes."+class+".")...)
	}
	return errors.Join(errs...)
}

// validate returns the mistakes in settings. The prefix "at" precedes the name of each parameter.
func (s *Settings) validate(at string) (errs []error) {
	bad := func(field, format string, args ...any) {
		errs = append(errs, varve.InvalidParam(at+field, format, args...))
	}
	if s.Billing != "" && s.Billing != OnDemand && s.Billing != Provisioned {
		bad("billing", "%q is unknown: use %s or %s", s.Billing, OnDemand, Provisioned)
	}
	for name, c := range s.Capacity {
		if !isTier(name) {
			bad("capacity."+name, "unknown tier: use hot, warm and cold")
		}
		if c.Read < 1 || c.Write < 1 {
			bad("capacity."+name, "%d read and %d write units are too few: use 1 or more", c.Read, c.Write)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.CapacityMax)) {
		most := s.CapacityMax[name]
		switch least, exists := s.Capacity[name]; {
		case !isTier(name):
			bad("capacity_max."+name, "unknown tier: use hot, warm and cold")
		case !exists:
			bad("capacity_max."+name, "requires capacity.%s, the smallest capacity: add it", name)
		case most.Read < least.Read || most.Write < least.Write:
			bad("capacity_max."+name, "%d read and %d write units are less than capacity.%s: raise them", most.Read, most.Write, name)
		}
	}
	for _, tier := range []store.Tier{store.Hot, store.Warm} {
		if _, exists := s.Capacity[tier.String()]; s.Billing == Provisioned && !exists {
			bad("capacity."+tier.String(), "is missing, and billing is provisioned: add it")
		}
	}
	for name, class := range s.TableClass {
		if !isTier(name) {
			bad("table_class."+name, "unknown tier: use hot, warm and cold")
		}
		if class != Standard && class != InfrequentAccess {
			bad("table_class."+name, "%q is unknown: use %s or %s", class, Standard, InfrequentAccess)
		}
	}
	for key := range s.Tags {
		if key == reservedTag || strings.HasPrefix(key, "aws:") || key == "" {
			bad("tags", "%q is reserved: use another name", key)
		}
	}
	return errs
}
