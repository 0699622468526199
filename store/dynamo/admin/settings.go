package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store/dynamo/client"
)

// SetTTL turns the time to live of a table on or off. While it is on, DynamoDB deletes each row after
// the time in the attribute with the name attr.
func (a *Admin) SetTTL(ctx context.Context, name, attr string, on bool) error {
	is, err := a.HasTTL(ctx, name)
	if err != nil || is == on {
		return err
	}
	_, err = a.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attr), Enabled: aws.Bool(on)},
	})
	if err == nil {
		return nil
	}
	if is, derr := a.HasTTL(ctx, name); derr == nil && is == on {
		return nil // another process has made the change, or its answer was lost
	}
	return a.client.Error("UpdateTimeToLive", name, err)
}

// HasTTL reports whether the time to live of a table is on or being turned on.
func (a *Admin) HasTTL(ctx context.Context, name string) (on bool, err error) {
	out, err := a.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		return false, a.client.Error("DescribeTimeToLive", name, err)
	}
	return IsTTLOn(out.TimeToLiveDescription), nil
}

// IsTTLOn reports whether the time to live of a table is on or being turned on.
func IsTTLOn(d *types.TimeToLiveDescription) bool {
	return d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
}

// SetProtection turns the deletion protection of a table on or off.
func (a *Admin) SetProtection(ctx context.Context, name string, on bool) error {
	return a.Change(ctx, name, func(d *types.TableDescription) (*dynamodb.UpdateTableInput, error) {
		if aws.ToBool(d.DeletionProtectionEnabled) == on {
			return nil, nil
		}
		return &dynamodb.UpdateTableInput{TableName: aws.String(name), DeletionProtectionEnabled: aws.Bool(on)}, nil
	})
}

// EnableRecovery turns on the point-in-time recovery of a table.
func (a *Admin) EnableRecovery(ctx context.Context, name string) error {
	in := &dynamodb.UpdateContinuousBackupsInput{
		TableName:                        aws.String(name),
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	}
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return fmt.Errorf("wait to enable point-in-time recovery of %s: %w", name, err)
		}
		_, err := a.client.UpdateContinuousBackups(ctx, in)
		var early *types.ContinuousBackupsUnavailableException
		if errors.As(err, &early) { // a new table cannot change this setting until DynamoDB has prepared its backups
			continue
		}
		if err != nil {
			return a.client.Error("UpdateContinuousBackups", name, err)
		}
		return nil
	}
}
