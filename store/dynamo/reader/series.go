package reader

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/row"
)

// scanSegments is the number of parts of a table that Series scans at the same time. DynamoDB calls
// them segments.
const scanSegments = 4

// segment is the state of the scan of one segment. The token of a page has the states of the
// unfinished segments.
type segment struct {
	Number int    `json:"n"`
	Series string `json:"s,omitempty"` // hash key of the last row; empty before the first request
	TS     string `json:"t,omitempty"` // sort key of the last row
}

// Series implements store.Enumerator. It scans the keys of all rows, several segments in parallel.
// Each page is one request per unfinished segment. DynamoDB bills whole rows, although the requests
// return only keys.
func (rd *Reader) Series(ctx context.Context, q store.SeriesQuery) (page store.SeriesPage, err error) {
	segments, err := parseSegments(q.After)
	if err != nil {
		return page, err
	}
	if q.After == "" {
		if err := rd.admin.Exists(ctx, q.Table.Name()); err != nil {
			return page, err
		}
	}
	var mu sync.Mutex
	var rest []segment
	seen := map[varve.Series]bool{}
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range segments {
		g.Go(func() error {
			out, err := rd.scanKeys(ctx, q.Table, s)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			page.Cost.Add(rd.client.Usage.AddRead(q.Table.Name(), out.ConsumedCapacity))
			if last := segmentAfter(s.Number, out.LastEvaluatedKey); last.Series != "" {
				rest = append(rest, last)
			}
			return addSeries(&page, seen, &q, out.Items)
		})
	}
	if err := g.Wait(); err != nil {
		return store.SeriesPage{Cost: page.Cost}, err
	}
	page.Next, err = formatSegments(rest)
	return page, err
}

func (rd *Reader) scanKeys(ctx context.Context, t grid.Table, s segment) (out *dynamodb.ScanOutput, err error) {
	in := &dynamodb.ScanInput{
		TableName: aws.String(t.Name()), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		ProjectionExpression:     aws.String("#s, #t"),
		ExpressionAttributeNames: map[string]string{"#s": row.AttrSeries, "#t": row.AttrTS},
		Segment:                  aws.Int32(int32(s.Number)), TotalSegments: aws.Int32(scanSegments),
	}
	if s.Series != "" {
		in.ExclusiveStartKey = attr.Item{row.AttrSeries: &attr.Str{Value: s.Series}, row.AttrTS: &attr.Num{Value: s.TS}}
	}
	err = rd.tables.RetryNotFound(ctx, t, "Scan", func() (err error) {
		out, err = rd.client.Scan(ctx, in)
		return err
	})
	if err != nil {
		return nil, rd.client.Error("Scan", t.Name(), err)
	}
	return out, nil
}

// addSeries adds the series of rows to a page. If a key does not have the form of a series, the readings of
// the row cannot be enumerated. Then addSeries reports a DamagedRow, or fails with it.
func addSeries(page *store.SeriesPage, seen map[varve.Series]bool, q *store.SeriesQuery, items []attr.Item) error {
	for _, it := range items {
		key, _ := it[row.AttrSeries].(*attr.Str)
		if key != nil && key.Value == row.StreamsKey {
			continue
		}
		var hash string
		if key != nil {
			hash = key.Value
		}
		s, _, err := row.ParseSeriesKey(hash)
		if err != nil {
			damaged := row.Damaged(q.Table, it, err)
			if q.Damaged == nil {
				return damaged
			}
			q.Damaged(damaged)
			continue
		}
		if !seen[s] {
			seen[s] = true
			page.Series = append(page.Series, s)
		}
	}
	return nil
}

// segmentAfter returns the state of a segment after a request. It has no series if the segment has
// no further rows.
func segmentAfter(number int, last attr.Item) segment {
	s := segment{Number: number}
	key, _ := last[row.AttrSeries].(*attr.Str)
	ts, _ := last[row.AttrTS].(*attr.Num)
	if key != nil && ts != nil {
		s.Series, s.TS = key.Value, ts.Value
	}
	return s
}

func formatSegments(rest []segment) (token string, err error) {
	if len(rest) == 0 {
		return "", nil
	}
	data, err := json.Marshal(rest)
	return base64.RawURLEncoding.EncodeToString(data), err
}

// parseSegments parses a token. The empty token stands for all segments.
func parseSegments(token string) (segments []segment, err error) {
	if token == "" {
		for n := range scanSegments {
			segments = append(segments, segment{Number: n})
		}
		return segments, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(data, &segments)
	}
	if err != nil || len(segments) == 0 {
		return nil, varve.InvalidParam("after", "%.80q is not the token of a page", token)
	}
	return segments, nil
}
