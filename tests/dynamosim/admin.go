package dynamosim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

type keyElement struct{ AttributeName, KeyType string }

type attributeType struct{ AttributeName, AttributeType string }

// indexInput describes an index in CreateTable.
type indexInput struct {
	IndexName             string
	KeySchema             []keyElement
	Projection            projectionInput
	ProvisionedThroughput *provisionedUnits
}

// projectionInput describes which attributes an index has.
type projectionInput struct {
	ProjectionType   string
	NonKeyAttributes []string `json:",omitempty"`
}

type tag struct{ Key, Value string }

// warmUnits is a warm throughput: the units per second that a table can serve immediately.
type warmUnits struct{ ReadUnitsPerSecond, WriteUnitsPerSecond int64 }

// tableInput has the parameters of CreateTable and UpdateTable.
type tableInput struct {
	TableName                 string
	AttributeDefinitions      []attributeType
	KeySchema                 []keyElement
	GlobalSecondaryIndexes    []indexInput
	LocalSecondaryIndexes     []json.RawMessage
	BillingMode               string
	ProvisionedThroughput     *provisionedUnits
	TableClass                string
	DeletionProtectionEnabled *bool
	SSESpecification          *encryption
	Tags                      []tag
	WarmThroughput            *warmUnits
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

func (s control) createTable(in *tableInput) (any, error) {
	if !tableName.MatchString(in.TableName) {
		return nil, invalid("1 validation error detected: Value '%s' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+", in.TableName)
	}
	t, err := s.newTable(in)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.existing(in.TableName) != nil {
		return nil, inUse("Table already exists: %s", in.TableName)
	}
	s.tables[t.name] = t
	d := s.describe(t)
	d.TableStatus = creating
	return map[string]any{"TableDescription": d}, nil
}

func (s control) newTable(in *tableInput) (*table, error) {
	now := s.options.Now()
	t := &table{name: in.TableName, id: fmt.Sprintf("%08x-0000-4000-8000-%012x", s.serial.Add(1), now.UnixNano()&0xffffffffffff), created: now}
	if err := t.schema.parse(in.KeySchema, in.AttributeDefinitions); err != nil {
		return nil, err
	}
	if len(in.LocalSecondaryIndexes) > 0 {
		return nil, invalid("LocalSecondaryIndexes are not supported by the stand-in")
	}
	set := settings{
		billing: cmp.Or(in.BillingMode, provisioned), class: in.TableClass, encryption: in.SSESpecification,
		protected: in.DeletionProtectionEnabled != nil && *in.DeletionProtectionEnabled, tags: map[string]string{},
	}
	for _, tag := range in.Tags {
		set.tags[tag.Key] = tag.Value
	}
	if err := set.setBilling(in); err != nil {
		return nil, err
	}
	t.units.init(s.options.Limits, arn(t.name), &set, now)
	used := map[string]bool{t.hash.name: true, t.sort.name: true}
	for _, x := range in.GlobalSecondaryIndexes {
		if !tableName.MatchString(x.IndexName) {
			return nil, invalid("Invalid table/index name.  Table/index names must be between 3 and 255 characters long, and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'")
		}
		ix := &index{name: x.IndexName, projection: x.Projection.ProjectionType, others: x.Projection.NonKeyAttributes}
		if err := ix.schema.parse(x.KeySchema, in.AttributeDefinitions); err != nil {
			return nil, err
		}
		of := set
		if x.ProvisionedThroughput != nil {
			of.units = *x.ProvisionedThroughput
		}
		ix.units.init(s.options.Limits, arn(t.name)+"/index/"+ix.name, &of, now)
		ix.units.ofIndex = true
		used[ix.hash.name], used[ix.sort.name] = true, true
		t.indexes = append(t.indexes, ix)
	}
	for _, d := range in.AttributeDefinitions {
		if !used[d.AttributeName] {
			return nil, invalid("One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: [%s], keys used: [%s]", d.AttributeName, t.hash.name)
		}
	}
	if w := in.WarmThroughput; w != nil {
		t.warmUp(&set, w, now)
	}
	set.begin(creating, now.Add(s.options.TableDelay))
	t.settings = set
	return t, nil
}

// init sets the limits of a new table or index.
func (u *throughput) init(l *capacity.Limits, resource string, set *settings, now time.Time) {
	u.resource = resource
	u.onDemand.Store(set.billing == onDemand)
	switch {
	case l == nil:
	case set.billing == onDemand:
		u.limited = capacity.NewOnDemand(*l, now)
	default:
		u.limited = capacity.NewProvisioned(*l, set.units.perSecond(), now)
	}
}

// parse sets the keys of a table or an index.
func (s *schema) parse(keys []keyElement, types []attributeType) error {
	for _, k := range keys {
		i := slices.IndexFunc(types, func(a attributeType) bool { return a.AttributeName == k.AttributeName })
		if i < 0 {
			return invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: []", k.AttributeName)
		}
		attr := keyAttr{k.AttributeName, value.KindOf(types[i].AttributeType)}
		if attr.kind == 0 || attr.kind > value.Binary {
			return invalid("One or more parameter values were invalid: the key %s has the type %s", k.AttributeName, types[i].AttributeType)
		}
		if k.KeyType == "HASH" {
			s.hash = attr
		} else {
			s.sort = attr
		}
	}
	if s.hash.name == "" {
		return invalid("One or more parameter values were invalid: Missing the HASH key in the key schema")
	}
	return nil
}

// setBilling sets the billing mode and the provisioned units from the parameters.
func (s *settings) setBilling(in *tableInput) error {
	s.billing = cmp.Or(in.BillingMode, s.billing)
	if s.billing == onDemand {
		if in.ProvisionedThroughput != nil && in.ProvisionedThroughput.ReadCapacityUnits > 0 {
			return invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
		s.units = provisionedUnits{}
		return nil
	}
	if in.ProvisionedThroughput == nil {
		if s.units == (provisionedUnits{}) {
			return invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
		}
		return nil
	}
	if p := *in.ProvisionedThroughput; p.ReadCapacityUnits < 1 || p.WriteCapacityUnits < 1 {
		return invalid("The parameter 'ProvisionedThroughput' must have values greater than or equal to 1")
	}
	s.units = *in.ProvisionedThroughput
	return nil
}

// warmUp sets the warm throughput of a table. It may raise the limits of the table, and never lowers them.
func (t *table) warmUp(set *settings, w *warmUnits, now time.Time) {
	set.warm = capacity.Units{float64(w.ReadUnitsPerSecond), float64(w.WriteUnitsPerSecond)}
	if t.units.limited != nil {
		t.units.limited.Warm(set.warm, now)
	}
}

func (s control) updateTable(in *tableInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.existing(in.TableName)
	if t == nil {
		return nil, tableNotFound(in.TableName)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := s.options.Now()
	if status := t.settings.status(now); status != active {
		return nil, inUse("Attempt to change a resource which is still in use: Table is being %s: %s", participles[status], t.name)
	}
	next := t.settings
	if err := t.change(&next, in, now); err != nil {
		return nil, err
	}
	next.begin(updating, now.Add(s.options.TableDelay))
	t.settings = next
	d := s.describeLocked(t)
	d.TableStatus = updating
	return map[string]any{"TableDescription": d}, nil
}

var participles = map[string]string{creating: "created", updating: "updated", deleting: "deleted"}

// change applies the parameters of UpdateTable to a table.
func (t *table) change(next *settings, in *tableInput, now time.Time) error {
	if err := next.setBilling(in); err != nil {
		return err
	}
	was := &t.settings
	isLower := next.units.ReadCapacityUnits < was.units.ReadCapacityUnits || next.units.WriteCapacityUnits < was.units.WriteCapacityUnits
	switch {
	case next.billing != provisioned || was.billing != provisioned:
	case in.ProvisionedThroughput != nil && next.units == was.units:
		return invalid("The provisioned throughput for the table will not change. The requested value equals the current value. "+
			"Current ReadCapacityUnits provisioned for the table: %[1]d. Requested ReadCapacityUnits: %[1]d. "+
			"Current WriteCapacityUnits provisioned for the table: %[2]d. Requested WriteCapacityUnits: %[2]d. "+
			"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.", was.units.ReadCapacityUnits, was.units.WriteCapacityUnits)
	case isLower:
		if err := next.recordDecrease(now); err != nil {
			return err
		}
	}
	if in.DeletionProtectionEnabled != nil {
		next.protected = *in.DeletionProtectionEnabled
	}
	next.class = cmp.Or(in.TableClass, next.class)
	if in.SSESpecification != nil {
		next.encryption = in.SSESpecification
	}
	t.applyBilling(next, now)
	if in.WarmThroughput != nil {
		t.warmUp(next, in.WarmThroughput, now)
	}
	return nil
}

// applyBilling applies the billing mode and the units of new settings to the limits of a table and its
// indexes.
func (t *table) applyBilling(next *settings, now time.Time) {
	if next.billing == t.settings.billing && next.units == t.settings.units {
		return
	}
	all := []*throughput{&t.units}
	for _, ix := range t.indexes {
		all = append(all, &ix.units)
	}
	for _, u := range all {
		u.onDemand.Store(next.billing == onDemand)
		switch {
		case u.limited == nil:
		case next.billing == onDemand:
			u.limited.SetOnDemand(now)
		default:
			u.limited.SetProvisioned(next.units.perSecond(), now)
		}
	}
	if next.billing == onDemand {
		next.switched = now
	}
}

func (s control) deleteTable(in *tableInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.existing(in.TableName)
	if t == nil {
		return nil, tableNotFound(in.TableName)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := s.options.Now()
	if t.settings.protected {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	if status := t.settings.status(now); status != active {
		return nil, inUse("Attempt to change a resource which is still in use: Table is being %s: %s", participles[status], t.name)
	}
	t.settings.begin(deleting, now.Add(s.options.TableDelay))
	if s.options.TableDelay == 0 {
		delete(s.tables, t.name)
	}
	d := s.describeLocked(t)
	d.TableStatus = deleting
	return map[string]any{"TableDescription": d}, nil
}

// existing returns a table that has not been deleted, or nil. The caller must hold the
// server's write lock.
func (s *Server) existing(name string) *table {
	t := s.tables[name]
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.settings.status(s.options.Now()) == "" {
		delete(s.tables, name)
		return nil
	}
	return t
}

// usable returns a table if its items can be read and written.
func (s *Server) usable(name string) (*table, error) {
	s.mu.RLock()
	t := s.tables[nameOf(name)]
	s.mu.RUnlock()
	if t == nil {
		return nil, notFound()
	}
	t.mu.Lock()
	status := t.settings.status(s.options.Now())
	t.mu.Unlock()
	if status != active && status != updating {
		return nil, notFound()
	}
	return t, nil
}

func (s control) listTables(in *struct {
	ExclusiveStartTableName string
	Limit                   int
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		if name > in.ExclusiveStartTableName && s.existing(name) != nil {
			names = append(names, name)
		}
	}
	out := map[string]any{}
	if limit := cmp.Or(in.Limit, 100); len(names) > limit {
		names = names[:limit]
		out["LastEvaluatedTableName"] = names[limit-1]
	}
	out["TableNames"] = names
	return out, nil
}
