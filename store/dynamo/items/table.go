package items

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
)

// OpenTable creates the table of a registry if it is missing, and completes an interrupted creation. It
// fails if an existing table has other keys or belongs to another deployment.
func OpenTable(ctx context.Context, a *admin.Admin, name string) error {
	d, err := a.Describe(ctx, name)
	isNew := false
	switch {
	case errors.Is(err, store.ErrNoTable):
		d, err = createTable(ctx, a, name)
		isNew = true
	case err == nil && d.TableStatus == types.TableStatusCreating:
		d, err = a.Await(ctx, name)
		isNew = true
	}
	if err == nil {
		err = checkSchema(d)
	}
	if err == nil {
		err = a.CheckOwner(ctx, d)
	}
	if err == nil && isNew {
		err = a.SetTTL(ctx, name, AttrTTL, true)
	}
	if err != nil {
		return fmt.Errorf("registry %s: %w", name, err)
	}
	return nil
}

// CheckTable checks the table of a registry, and changes nothing. It fails with store.ErrNoTable if the
// table is missing, and otherwise as OpenTable does.
func CheckTable(ctx context.Context, a *admin.Admin, name string) error {
	d, err := a.Describe(ctx, name)
	if err == nil {
		err = checkSchema(d)
	}
	if err == nil {
		err = a.CheckOwner(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("registry %s: %w", name, err)
	}
	return nil
}

func createTable(ctx context.Context, a *admin.Admin, name string) (*types.TableDescription, error) {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, Tags: a.OwnerTags(),
		// Protect the registry: without it, nothing would list the tables of this deployment.
		DeletionProtectionEnabled: aws.Bool(true),
	}
	for _, ix := range Indexes() {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(ix.PK), AttributeType: types.ScalarAttributeTypeS},
			types.AttributeDefinition{AttributeName: aws.String(ix.SK), AttributeType: types.ScalarAttributeTypeS})
		keys := []types.KeySchemaElement{
			{AttributeName: aws.String(ix.PK), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(ix.SK), KeyType: types.KeyTypeRange},
		}
		if ix.Name == "" {
			in.KeySchema = keys
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(ix.Name), KeySchema: keys,
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		})
	}
	d, _, err := a.Create(ctx, in)
	return d, err
}
