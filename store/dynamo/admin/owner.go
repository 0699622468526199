package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// OwnerTag is the tag on every table of a deployment. Its value names the deployment.
const OwnerTag = "varve:owner"

// Owner returns the name of the deployment.
func (a *Admin) Owner() string { return a.owner }

// HasTags reports whether this endpoint supports tags of tables.
func (a *Admin) HasTags() bool { return a.tags }

// OwnerTags returns the tags to set on a new table.
func (a *Admin) OwnerTags() []types.Tag {
	return []types.Tag{{Key: aws.String(OwnerTag), Value: aws.String(a.owner)}}
}

// CheckOwner fails if a table has the owner tag of another deployment. It also finds out whether
// this endpoint supports tags.
func (a *Admin) CheckOwner(ctx context.Context, d *types.TableDescription) error {
	owner, tags, err := a.OwnerOf(ctx, d)
	if err != nil {
		return err
	}
	if owner != "" && owner != a.owner {
		return fmt.Errorf("its owner tag is %q, and this deployment is %q: set another registry or owner", owner, a.owner)
	}
	a.tags = tags
	return nil
}

// Owns reports whether a table has the owner tag of this deployment. If the endpoint does not
// support tags, it returns true.
func (a *Admin) Owns(ctx context.Context, d *types.TableDescription) (bool, error) {
	if !a.tags {
		return true, nil
	}
	owner, _, err := a.OwnerOf(ctx, d)
	return owner == a.owner, err
}

// OwnerOf returns the owner tag of a table, or "" if it has none. It also returns whether this
// endpoint supports tags.
func (a *Admin) OwnerOf(ctx context.Context, d *types.TableDescription) (owner string, tags bool, err error) {
	in := &dynamodb.ListTagsOfResourceInput{ResourceArn: d.TableArn}
	for {
		out, err := a.client.ListTagsOfResource(ctx, in)
		var api smithy.APIError
		if errors.As(err, &api) && api.ErrorCode() == "UnknownOperationException" {
			return "", false, nil // DynamoDB Local does not support tags
		}
		if err != nil {
			return "", false, a.client.Error("ListTagsOfResource", aws.ToString(d.TableName), err)
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
