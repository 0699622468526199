package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/varvedb/varve/store"
)

// openRegistry makes the registry if it is not there, and finds out whether
// tables keep their tags here.
func (s *Store) openRegistry(ctx context.Context) error {
	d, err := s.describe(ctx, s.opts.Registry)
	if errors.Is(err, store.ErrNoTable) {
		d, err = s.makeRegistry(ctx)
	}
	if err == nil {
		err = checkRegistry(d)
	}
	if err != nil {
		return fmt.Errorf("registry %s: %w", s.opts.Registry, err)
	}
	owner, tags, err := s.ownerOf(ctx, s.opts.Registry, aws.ToString(d.TableArn))
	if err != nil {
		return fmt.Errorf("registry %s: %w", s.opts.Registry, err)
	}
	if owner != "" && owner != s.opts.Owner {
		return fmt.Errorf("registry %s has the owner tag %q, and this deployment is %q: set another registry or owner", s.opts.Registry, owner, s.opts.Owner)
	}
	s.tags = tags
	return nil
}

// checkRegistry returns what keeps a table from being a registry.
func checkRegistry(d *types.TableDescription) error {
	schema := func(keys []types.KeySchemaElement) string {
		var names []string
		for _, k := range keys {
			names = append(names, aws.ToString(k.AttributeName))
		}
		return strings.Join(names, ", ")
	}
	shapes := map[string]string{"": schema(d.KeySchema)}
	for _, ix := range d.GlobalSecondaryIndexes {
		shapes[aws.ToString(ix.IndexName)] = schema(ix.KeySchema)
	}
	for _, ix := range []store.Index{store.Primary, store.GSI1, store.GSI2} {
		pk, sk := indexAttrs(ix)
		name := ""
		if ix != store.Primary {
			name = indexName(ix)
		}
		if want := pk + ", " + sk; shapes[name] != want {
			return fmt.Errorf("its keys %s are %q, and %q is wanted: name another table with store.registry, or let one be made", name, shapes[name], want)
		}
	}
	return nil
}

func (s *Store) makeRegistry(ctx context.Context) (*types.TableDescription, error) {
	text := types.ScalarAttributeTypeS
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(s.opts.Registry), BillingMode: types.BillingModePayPerRequest, Tags: s.ownerTags(),
		// Without it, nobody knows which tables are this deployment's.
		DeletionProtectionEnabled: aws.Bool(true),
	}
	for _, ix := range []store.Index{store.Primary, store.GSI1, store.GSI2} {
		pk, sk := indexAttrs(ix)
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(pk), AttributeType: text},
			types.AttributeDefinition{AttributeName: aws.String(sk), AttributeType: text})
		keys := []types.KeySchemaElement{
			{AttributeName: aws.String(pk), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sk), KeyType: types.KeyTypeRange},
		}
		if ix == store.Primary {
			in.KeySchema = keys
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(indexName(ix)), KeySchema: keys,
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		})
	}
	d, _, err := s.makeTable(ctx, in)
	if err != nil {
		return nil, err
	}
	return d, s.setTTL(ctx, s.opts.Registry, attrExp, true)
}

func indexName(ix store.Index) string {
	if ix == store.GSI1 {
		return "gsi1"
	}
	return "gsi2"
}

func (s *Store) ownerTags() []types.Tag {
	return []types.Tag{{Key: aws.String(OwnerTag), Value: aws.String(s.opts.Owner)}}
}

// ownerOf returns the owner tag of a table, "" if it has none; and whether
// tables have tags here at all.
func (s *Store) ownerOf(ctx context.Context, name, arn string) (owner string, tags bool, err error) {
	in := &dynamodb.ListTagsOfResourceInput{ResourceArn: aws.String(arn)}
	for {
		out, err := s.client.ListTagsOfResource(ctx, in)
		var api smithy.APIError
		if errors.As(err, &api) && api.ErrorCode() == "UnknownOperationException" {
			return "", false, nil // DynamoDB Local knows no tags
		}
		if err != nil {
			return "", false, s.fail("ListTagsOfResource", name, err)
		}
		for _, tag := range out.Tags {
			if aws.ToString(tag.Key) == OwnerTag {
				return aws.ToString(tag.Value), true, nil
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return "", true, nil
		}
	}
}

// makeTable makes a table, and waits until it can be used. It is no error if it
// is there; then it was not made.
func (s *Store) makeTable(ctx context.Context, in *dynamodb.CreateTableInput) (d *types.TableDescription, made bool, err error) {
	name := aws.ToString(in.TableName)
	_, err = s.client.CreateTable(ctx, in)
	made = err == nil
	var used *types.ResourceInUseException
	if err != nil && !errors.As(err, &used) {
		return nil, false, s.fail("CreateTable", name, err)
	}
	d, err = s.await(ctx, name)
	return d, made, err
}

// setTTL sets whether DynamoDB deletes a table's items when their time has come.
func (s *Store) setTTL(ctx context.Context, name, attr string, on bool) error {
	out, err := s.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		return s.fail("DescribeTimeToLive", name, err)
	}
	is := false
	if d := out.TimeToLiveDescription; d != nil {
		is = d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling
	}
	if is == on {
		return nil
	}
	_, err = s.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attr), Enabled: aws.Bool(on)},
	})
	if err != nil {
		return s.fail("UpdateTimeToLive", name, err)
	}
	return nil
}

// describe returns a table's description, or ErrNoTable.
func (s *Store) describe(ctx context.Context, name string) (*types.TableDescription, error) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		return nil, s.fail("DescribeTable", name, err)
	}
	return out.Table, nil
}

// await waits until a table is active, and is not being updated.
func (s *Store) await(ctx context.Context, name string) (*types.TableDescription, error) {
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return nil, fmt.Errorf("waiting for table %s to become active: %w", name, err)
		}
		d, err := s.describe(ctx, name)
		switch {
		case isNoTable(err): // made, and not known everywhere yet
		case err != nil:
			return nil, err
		case d.TableStatus == types.TableStatusActive:
			return d, nil
		case d.TableStatus != types.TableStatusCreating && d.TableStatus != types.TableStatusUpdating:
			return nil, fmt.Errorf("table %s is %s", name, d.TableStatus)
		}
	}
}

// pause waits before a try: not before the first, then 20 ms, and longer each
// time, up to a second.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	d := min(20*time.Millisecond<<min(try-1, 10), time.Second)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
