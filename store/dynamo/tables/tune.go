package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/row"
	"github.com/varvedb/varve/store/dynamo/template"
)

// DynamoDB allows four decreases of a table's capacity per day, and one more after each hour
// without a decrease. Source: Amazon DynamoDB developer guide, "Quotas".
const (
	freeDecreases = 4
	decreaseEvery = time.Hour
)

func tableInput(t grid.Table, tier store.Tier, s *template.Settings, tags []types.Tag) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:   aws.String(t.Name()),
		BillingMode: types.BillingModePayPerRequest,
		Tags:        tags,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(row.AttrSeries), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(row.AttrTS), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(row.AttrSeries), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(row.AttrTS), KeyType: types.KeyTypeRange},
		},
		DeletionProtectionEnabled: aws.Bool(s.IsProtected()),
	}
	if c, ok := s.CapacityOf(tier); ok {
		in.BillingMode, in.ProvisionedThroughput = types.BillingModeProvisioned, throughput(c)
	}
	if class := s.ClassOf(tier); class != template.Standard {
		in.TableClass = tableClass(class)
	}
	if s.KMSKey != "" {
		in.SSESpecification = &types.SSESpecification{
			Enabled: aws.Bool(true), SSEType: types.SSETypeKms, KMSMasterKeyId: aws.String(s.KMSKey),
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(key), Value: aws.String(s.Tags[key])})
	}
	return in
}

func throughput(c template.Capacity) *types.ProvisionedThroughput {
	return &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(c.Read), WriteCapacityUnits: aws.Int64(c.Write)}
}

func tableClass(name string) types.TableClass {
	if name == template.InfrequentAccess {
		return types.TableClassStandardInfrequentAccess
	}
	return types.TableClassStandard
}

// Tune implements store.Lifecycle. A provisioned table gets the capacity of the tier. If the
// template has no capacity for the tier, the table becomes on-demand. If tables of the tier are
// scaled, the capacity only changes if it is outside of the limits. A scaled cold table gets the
// capacity for its use in the last month, if that use is known. An on-demand table does not become
// provisioned. Every table gets the table class of the tier.
//
// DynamoDB limits changes of the table class and of capacity separately. If one change fails,
// Tune still makes the other.
func (l *Lifecycle) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	r, err := l.records.read(ctx, t)
	if err != nil {
		return err
	}
	if !r.isUsable() {
		return fmt.Errorf("%s: %w", t, store.ErrNoTable)
	}
	template, err := Template(ctx, l.items)
	if err != nil {
		return err
	}
	settings := template.Of(l.classOf(t.Prefix))
	classErr := l.tuneClass(ctx, t.Name(), r.Tier, tier, &settings)
	if err := errors.Join(classErr, l.tuneCapacity(ctx, t, tier, &settings)); err != nil {
		return err
	}
	return l.records.update(ctx, t, func(r *record) error { r.Tier = tier; return nil })
}

// tuneClass changes the table class of a table if the tiers have different classes.
func (l *Lifecycle) tuneClass(ctx context.Context, name string, from, to store.Tier, s *template.Settings) error {
	want := s.ClassOf(to)
	if s.ClassOf(from) == want {
		return nil
	}
	err := l.admin.Change(ctx, name, func(d *types.TableDescription) (*dynamodb.UpdateTableInput, error) {
		is := types.TableClassStandard
		if d.TableClassSummary != nil && d.TableClassSummary.TableClass != "" {
			is = d.TableClassSummary.TableClass
		}
		if is == tableClass(want) {
			return nil, nil
		}
		return &dynamodb.UpdateTableInput{TableName: aws.String(name), TableClass: tableClass(want)}, nil
	})
	if isUnknownClass(err) {
		return nil
	}
	return err
}

// isUnknownClass reports whether err is the answer of DynamoDB Local to a change of the table
// class. DynamoDB Local does not support table classes, and treats the request as empty.
func isUnknownClass(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" && api.ErrorMessage() == "Nothing to update"
}

func (l *Lifecycle) tuneCapacity(ctx context.Context, t grid.Table, tier store.Tier, s *template.Settings) error {
	return l.admin.Change(ctx, t.Name(), func(d *types.TableDescription) (*dynamodb.UpdateTableInput, error) {
		return l.planCapacity(ctx, t, d, tier, s)
	})
}

// planCapacity returns the update that gives a table the capacity of a tier, or nil if it needs none.
func (l *Lifecycle) planCapacity(ctx context.Context, t grid.Table, d *types.TableDescription, tier store.Tier, s *template.Settings) (*dynamodb.UpdateTableInput, error) {
	is := d.ProvisionedThroughput
	onDemand := d.BillingModeSummary != nil && d.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
	if onDemand || is == nil {
		return nil, nil
	}
	want, ok := s.CapacityOf(tier)
	if !ok {
		return &dynamodb.UpdateTableInput{TableName: aws.String(t.Name()), BillingMode: types.BillingModePayPerRequest}, nil
	}
	if least, most, scaled := s.Scaling(tier); scaled {
		want = template.Capacity{
			Read:  min(max(aws.ToInt64(is.ReadCapacityUnits), least.Read), most.Read),
			Write: min(max(aws.ToInt64(is.WriteCapacityUnits), least.Write), most.Write),
		}
		if tier == store.Cold {
			c, known, err := l.sealedCapacity(ctx, t, capacities{least, most})
			if err != nil {
				return nil, err
			}
			if known {
				want = c
			}
		}
	}
	return l.capacityUpdate(t.Name(), is, want)
}

// capacityUpdate returns the update that gives a provisioned table a capacity, or nil if it has the
// capacity. It fails if DynamoDB would refuse the update.
func (l *Lifecycle) capacityUpdate(name string, is *types.ProvisionedThroughputDescription, want template.Capacity) (*dynamodb.UpdateTableInput, error) {
	r, w := want.Read-aws.ToInt64(is.ReadCapacityUnits), want.Write-aws.ToInt64(is.WriteCapacityUnits)
	if r == 0 && w == 0 {
		return nil, nil
	}
	if last := aws.ToTime(is.LastDecreaseDateTime); (r < 0 || w < 0) &&
		aws.ToInt64(is.NumberOfDecreasesToday) >= freeDecreases && l.now().Sub(last) < decreaseEvery {
		return nil, &varve.Error{Failure: varve.Unavailable, RetryAfter: decreaseEvery, Message: fmt.Sprintf(
			"the capacity of %s was lowered %d times today, the last time at %s: retry an hour later",
			name, aws.ToInt64(is.NumberOfDecreasesToday), last.UTC().Format(time.TimeOnly))}
	}
	return &dynamodb.UpdateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: throughput(want),
	}, nil
}
