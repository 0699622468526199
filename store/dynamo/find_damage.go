package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// findDamage reads a row that DynamoDB refused to update, and returns its damage.
// It returns nil if the row is sound, is missing, or cannot be read.
func (s *Store) findDamage(ctx context.Context, g *group, at place) error {
	key := g.key(at)
	out, err := s.client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(g.table.Name()), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(attrSeries + "=:s AND " + attrTS + "=:t"),
		ExpressionAttributeValues: item{":s": key[attrSeries], ":t": key[attrTS]},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return nil //nolint:nilerr // the refusal itself is the answer
	}
	s.usage.reads.read(out.ConsumedCapacity)
	for _, it := range out.Items {
		if _, err := parseRow(it); err != nil {
			return damagedRow(g.table, key, err)
		}
	}
	return nil
}
