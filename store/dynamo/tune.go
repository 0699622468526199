package dynamo

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
)

// DynamoDB lowers a table's capacity four times a day, and once more in each
// hour without a decrease. Source: Amazon DynamoDB developer guide, "Quotas".
const (
	freeDecreases = 4
	decreaseEvery = time.Hour
)

// tableInput returns what makes a table of a tier by its settings.
func (s *Store) tableInput(t grid.Table, tier store.Tier, set *Settings) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:   aws.String(t.Name()),
		BillingMode: types.BillingModePayPerRequest,
		Tags:        s.ownerTags(),
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attrSeries), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attrTS), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(attrSeries), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(attrTS), KeyType: types.KeyTypeRange},
		},
		DeletionProtectionEnabled: aws.Bool(set.protected()),
	}
	if c, ok := set.capacity(tier); ok {
		in.BillingMode, in.ProvisionedThroughput = types.BillingModeProvisioned, c
	}
	if class := set.tableClass(tier); class != Standard {
		in.TableClass = classOf(class)
	}
	if set.KMSKey != "" {
		in.SSESpecification = &types.SSESpecification{
			Enabled: aws.Bool(true), SSEType: types.SSETypeKms, KMSMasterKeyId: aws.String(set.KMSKey),
		}
	}
	for _, key := range slices.Sorted(maps.Keys(set.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(key), Value: aws.String(set.Tags[key])})
	}
	return in
}

// capacity returns what a provisioned table of a tier has; false if it is on
// demand.
func (s *Settings) capacity(tier store.Tier) (*types.ProvisionedThroughput, bool) {
	c, ok := s.Capacity[tier.String()]
	if s.Billing != Provisioned || !ok {
		return nil, false
	}
	return &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(c.Read), WriteCapacityUnits: aws.Int64(c.Write)}, true
}

func classOf(word string) types.TableClass {
	if word == InfrequentAccess {
		return types.TableClassStandardInfrequentAccess
	}
	return types.TableClassStandard
}

// Tune implements store.Lifecycle: a provisioned table gets the tier's capacity, or
// goes on demand if there is none; and a table gets the tier's class. A table
// that is on demand stays so. DynamoDB bounds changes of class and of capacity
// apart, so if one fails, the other is made all the same.
func (s *Store) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	r, err := s.recordOf(ctx, t)
	if err != nil {
		return err
	}
	if r == nil || r.Phase != usable {
		return fmt.Errorf("%s: %w", t, store.ErrNoTable)
	}
	template, err := s.template(ctx)
	if err != nil {
		return err
	}
	settings := template.Of(s.opts.ClassOf(t.Prefix))
	classErr := s.tuneClass(ctx, t.Name(), r.Tier, tier, &settings)
	if err := errors.Join(classErr, s.tuneCapacity(ctx, t.Name(), tier, &settings)); err != nil {
		return err
	}
	return s.alter(ctx, t, func(r *record) error { r.Tier = tier; return nil })
}

// tuneClass changes a table's class if the tiers have different ones.
func (s *Store) tuneClass(ctx context.Context, name string, from, to store.Tier, set *Settings) error {
	want := set.tableClass(to)
	if set.tableClass(from) == want {
		return nil
	}
	d, err := s.await(ctx, name)
	if err != nil {
		return err
	}
	is := types.TableClassStandard
	if d.TableClassSummary != nil && d.TableClassSummary.TableClass != "" {
		is = d.TableClassSummary.TableClass
	}
	if is == classOf(want) {
		return nil
	}
	err = s.updateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String(name), TableClass: classOf(want)})
	if isUnknownClass(err) {
		return nil
	}
	return err
}

// isUnknownClass reports whether an update of the class alone was refused by
// DynamoDB Local, which knows no table classes and finds the request empty.
func isUnknownClass(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" && api.ErrorMessage() == "Nothing to update"
}

// tuneCapacity changes the capacity of a table that is provisioned.
func (s *Store) tuneCapacity(ctx context.Context, name string, tier store.Tier, set *Settings) error {
	d, err := s.await(ctx, name)
	if err != nil {
		return err
	}
	is := d.ProvisionedThroughput
	onDemand := d.BillingModeSummary != nil && d.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
	if onDemand || is == nil {
		return nil
	}
	want, ok := set.capacity(tier)
	if !ok {
		return s.updateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest})
	}
	r, w := aws.ToInt64(want.ReadCapacityUnits)-aws.ToInt64(is.ReadCapacityUnits), aws.ToInt64(want.WriteCapacityUnits)-aws.ToInt64(is.WriteCapacityUnits)
	if r == 0 && w == 0 {
		return nil
	}
	if last := aws.ToTime(is.LastDecreaseDateTime); (r < 0 || w < 0) &&
		aws.ToInt64(is.NumberOfDecreasesToday) >= freeDecreases && s.opts.Now().Sub(last) < decreaseEvery {
		return &varve.Error{Failure: varve.Unavailable, RetryAfter: decreaseEvery, Message: fmt.Sprintf(
			"the capacity of %s was lowered %d times today, the last time at %s: DynamoDB lowers it again an hour later",
			name, aws.ToInt64(is.NumberOfDecreasesToday), last.UTC().Format(time.TimeOnly))}
	}
	return s.updateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: want,
	})
}

// unprotect lifts a table's deletion protection.
func (s *Store) unprotect(ctx context.Context, d *types.TableDescription) error {
	if !aws.ToBool(d.DeletionProtectionEnabled) {
		return nil
	}
	return s.updateTable(ctx, &dynamodb.UpdateTableInput{TableName: d.TableName, DeletionProtectionEnabled: aws.Bool(false)})
}

// updateTable changes a table, when another change of it has ended, and waits
// until it is changed.
func (s *Store) updateTable(ctx context.Context, in *dynamodb.UpdateTableInput) error {
	name := aws.ToString(in.TableName)
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("waiting to update table %s: %w", name, err)
		}
		_, err := s.client.UpdateTable(ctx, in)
		var used *types.ResourceInUseException
		if errors.As(err, &used) {
			continue
		}
		if err != nil {
			return s.fail("UpdateTable", name, err)
		}
		_, err = s.await(ctx, name)
		return err
	}
}

// enableRecovery has DynamoDB keep what a table was at any second of the last
// days.
func (s *Store) enableRecovery(ctx context.Context, name string) error {
	in := &dynamodb.UpdateContinuousBackupsInput{
		TableName:                        aws.String(name),
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	}
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("waiting to enable point-in-time recovery of %s: %w", name, err)
		}
		_, err := s.client.UpdateContinuousBackups(ctx, in)
		var soon *types.ContinuousBackupsUnavailableException
		if errors.As(err, &soon) { // it is being prepared
			continue
		}
		if err != nil {
			return s.fail("UpdateContinuousBackups", name, err)
		}
		return nil
	}
}
