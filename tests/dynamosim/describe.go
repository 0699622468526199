package dynamosim

import (
	"time"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// description describes a table in the answers of CreateTable, DescribeTable, UpdateTable and DeleteTable.
type description struct {
	TableName, TableArn, TableStatus string
	TableID                          string `json:"TableId"`
	CreationDateTime                 float64
	AttributeDefinitions             []attributeType
	KeySchema                        []keyElement
	ProvisionedThroughput            throughputDescription
	BillingModeSummary               *billingSummary     `json:",omitempty"`
	TableClassSummary                *classSummary       `json:",omitempty"`
	GlobalSecondaryIndexes           []indexDescription  `json:",omitempty"`
	SSEDescription                   *encryptionDescribe `json:",omitempty"`
	DeletionProtectionEnabled        bool
	WarmThroughput                   *warmDescription `json:",omitempty"`
	ItemCount, TableSizeBytes        int64
}

type throughputDescription struct {
	provisionedUnits

	NumberOfDecreasesToday int64
	LastDecreaseDateTime   float64 `json:",omitempty"`
}

type billingSummary struct {
	BillingMode                       string
	LastUpdateToPayPerRequestDateTime float64 `json:",omitempty"`
}

type classSummary struct{ TableClass string }

type encryptionDescribe struct{ Status, SSEType, KMSMasterKeyArn string }

type warmDescription struct {
	warmUnits

	Status string
}

type indexDescription struct {
	IndexName, IndexArn, IndexStatus string
	KeySchema                        []keyElement
	Projection                       projectionInput
	ProvisionedThroughput            throughputDescription
	ItemCount, IndexSizeBytes        int64
}

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// elements returns the key schema in the form of the API.
func (s *schema) elements() []keyElement {
	list := []keyElement{{s.hash.name, "HASH"}}
	if s.sort.name != "" {
		list = append(list, keyElement{s.sort.name, "RANGE"})
	}
	return list
}

func (s control) describeTable(in *tableInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.existing(nameOf(in.TableName))
	if t == nil {
		return nil, tableNotFound(in.TableName)
	}
	return map[string]any{"Table": s.describe(t)}, nil
}

func (s *Server) describe(t *table) *description {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.describeLocked(t)
}

// describeLocked is like describe, but the caller must hold the lock of the table.
func (s *Server) describeLocked(t *table) *description {
	set := &t.settings
	now := s.options.Now()
	d := &description{
		TableName: t.name, TableID: t.id, TableArn: arn(t.name), TableStatus: set.status(now), CreationDateTime: unixSeconds(t.created),
		KeySchema: t.elements(), ItemCount: t.items.Load(), TableSizeBytes: t.bytes.Load(), DeletionProtectionEnabled: set.protected,
		ProvisionedThroughput: throughputDescription{set.units, set.loweredToday, unixSeconds(set.lowered)},
	}
	defined := map[string]bool{}
	define := func(s *schema) {
		for _, k := range s.attrs() {
			if !defined[k.name] {
				defined[k.name] = true
				d.AttributeDefinitions = append(d.AttributeDefinitions, attributeType{k.name, k.kind.String()})
			}
		}
	}
	define(&t.schema)
	for _, ix := range t.indexes {
		define(&ix.schema)
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, indexDescription{
			IndexName: ix.name, IndexArn: ix.units.resource, IndexStatus: d.TableStatus, KeySchema: ix.elements(),
			Projection: projectionInput{ix.projection, ix.others}, ProvisionedThroughput: d.ProvisionedThroughput,
		})
	}
	if set.billing == onDemand || !set.switched.IsZero() {
		d.BillingModeSummary = &billingSummary{set.billing, unixSeconds(set.switched)}
	}
	if set.class != "" {
		d.TableClassSummary = &classSummary{set.class}
	}
	if e := set.encryption; e != nil && e.Enabled {
		d.SSEDescription = &encryptionDescribe{"ENABLED", "KMS", e.KMSMasterKeyID}
	}
	d.WarmThroughput = t.warmth()
	return d
}

// warmth returns the warm throughput of a table, or nil if the server has no limits.
func (t *table) warmth() *warmDescription {
	if t.units.limited == nil {
		return nil
	}
	rate := t.units.limited.State().Rate
	return &warmDescription{warmUnits{int64(rate[capacity.Read]), int64(rate[capacity.Write])}, active}
}
