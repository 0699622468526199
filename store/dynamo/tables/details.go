package tables

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
	"golang.org/x/sync/errgroup"
)

// addDetails adds DynamoDB's counts of rows and sizes to the tables, and removes tables that are
// missing. The counts and sizes may be hours old. It also adopts tables that have the owner tag but
// no record.
func (c *Catalog) addDetails(ctx context.Context, infos []store.Info) ([]store.Info, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.parallel)
	missing := make([]bool, len(infos))
	for i := range infos {
		g.Go(func() error {
			d, err := c.admin.Describe(ctx, infos[i].Name())
			if client.IsNoTable(err) {
				missing[i] = true
				return nil
			}
			if err != nil {
				return err
			}
			infos[i].Readings, infos[i].Bytes = aws.ToInt64(d.ItemCount), aws.ToInt64(d.TableSizeBytes)
			if !infos[i].Owned && c.admin.HasTags() {
				return c.adopt(ctx, &infos[i], d)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	found := infos[:0]
	for i := range infos {
		if !missing[i] {
			found = append(found, infos[i])
		}
	}
	return found, nil
}

// LostHold is the reason of the hold on an adopted table that was probably on hold before.
const LostHold = "it was on hold when the registry was lost: release it if the reason no longer applies"

// adopt writes a record for a table that has the owner tag but no record, because the registry
// was lost and recreated. The reason of a hold is lost with the record, but the time to live of the
// table is still off. Such a table is on hold again, so that it is not dropped.
func (c *Catalog) adopt(ctx context.Context, in *store.Info, d *types.TableDescription) error {
	owned, err := c.admin.Owns(ctx, d)
	if err != nil || !owned || d.TableStatus != types.TableStatusActive {
		return err
	}
	r := &record{Phase: usable, Tier: store.Warm, Created: aws.ToTime(d.CreationDateTime).UTC(), Used: true, Version: 1}
	if !c.keepExpired {
		expires, err := c.admin.HasTTL(ctx, in.Name())
		if err != nil {
			return err
		}
		if !expires {
			r.Hold = LostHold
		}
	}
	if err := ignoreCondition(c.records.create(ctx, in.Table, r)); err != nil {
		return err
	}
	if err := c.records.changeVersion(ctx); err != nil {
		return err
	}
	readings, bytes := in.Readings, in.Bytes
	*in = r.info(in.Table, true)
	in.Readings, in.Bytes = readings, bytes
	c.records.lists.Clear()
	return nil
}
