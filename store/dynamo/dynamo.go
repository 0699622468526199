package dynamo

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/doctor"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/layouts"
	"github.com/varvedb/varve/store/dynamo/reader"
	"github.com/varvedb/varve/store/dynamo/repair"
	"github.com/varvedb/varve/store/dynamo/tables"
	"github.com/varvedb/varve/store/dynamo/template"
	"github.com/varvedb/varve/store/dynamo/writer"
)

// Format is the version of the format in which this program writes rows and registry items.
const Format = 1

// Options are the settings of a store. Client and Registry are required.
type Options struct {
	// Client sends requests to DynamoDB, with its own retryer; see NewRetryer. The store also
	// retries after incomplete answers.
	Client *dynamodb.Client
	// Registry is the name of the registry's table. If the table is missing, Open creates it.
	Registry string
	// MustExist makes Open fail with store.ErrNoTable if the registry is missing. With it, Open
	// changes nothing.
	MustExist bool
	// Owner is the value of the tag OwnerTag on the tables of this deployment. The default is the
	// name of the registry.
	Owner string
	// ClassOf returns the retention class of a prefix, which selects the settings in the table
	// template. If nil, no table has a class.
	ClassOf func(prefix string) string
	// Now returns the current time, for the expiry of items and for times in the registry. If nil, it
	// is time.Now.
	Now func() time.Time
	// Parallel is the largest number of requests that one call sends at the same time. 0 means
	// 32.
	Parallel int
	// CacheFor is how long a list of tables is used if its version is current. 0 means 10
	// seconds.
	CacheFor time.Duration
	// KeepExpired creates tables whose rows DynamoDB never deletes on its own. See also
	// Store.KeepExpired.
	KeepExpired bool
	// Conditions, if set, receives health.StoreUnreachable.
	Conditions *health.Conditions
}

const (
	defaultParallel = 32
	defaultCacheFor = 10 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ClassOf == nil {
		o.ClassOf = func(string) string { return "" }
	}
	if o.Owner == "" {
		o.Owner = o.Registry
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.CacheFor <= 0 {
		o.CacheFor = defaultCacheFor
	}
	return o
}

// Store is a store on DynamoDB. Open returns one. It is safe for concurrent use, even by many
// processes.
type Store struct {
	tableCalls
	itemCalls
	*core

	stopProbe context.CancelFunc
	probes    sync.WaitGroup
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.Versioned    = (*Store)(nil)
	_ store.LayoutReader = (*Store)(nil)

	_ store.DropCompleter = (*Store)(nil)
	_ store.ExpiredKeeper = (*Store)(nil)
	_ store.Scaler        = (*Store)(nil)
)

// core has the parts of a store, and tracks its running calls.
type core struct {
	parts
	calls callGate
}

// parts are the parts of a store. The methods of the store pass each call to one of them.
type parts struct {
	client  *client.Client
	admin   *admin.Admin
	items   *items.Items
	tables  *tables.Tables
	layouts *layouts.Layouts
	reader  *reader.Reader
	writer  *writer.Writer
}

// wireParts creates the parts. It sends no request.
func wireParts(o Options) parts {
	var p parts
	p.client = client.New(o.Client, o.Registry, o.Conditions)
	p.admin = admin.New(p.client, o.Owner)
	p.items = items.New(p.client, o.Now, o.Parallel)
	p.tables = tables.New(tables.Options{
		Admin: p.admin, Items: p.items, ClassOf: o.ClassOf, Now: o.Now, Parallel: o.Parallel, CacheFor: o.CacheFor, KeepExpired: o.KeepExpired,
		Used: p.client.Usage.ByTable.TakeAll,
	})
	p.layouts = layouts.New(p.client, p.tables, o.Parallel)
	p.reader = reader.New(p.client, p.tables.Records, p.admin)
	p.writer = writer.New(p.client, p.tables, p.layouts, o.Parallel)
	return p
}

func (p *parts) repairer() *repair.Repairer {
	return &repair.Repairer{Tables: p.tables, Layouts: p.layouts, Reader: p.reader}
}

// Open returns a store. It creates the registry if it is missing, unless Options.MustExist is set.
func Open(ctx context.Context, o Options) (*Store, error) {
	c := &core{parts: wireParts(o.withDefaults())}
	s := &Store{tableCalls: tableCalls{c}, itemCalls: itemCalls{c}, core: c}
	openTable := items.OpenTable
	if o.MustExist {
		openTable = items.CheckTable
	}
	if err := openTable(ctx, s.admin, o.Registry); err != nil {
		return nil, err
	}
	ctx, s.stopProbe = context.WithCancel(context.WithoutCancel(ctx))
	read := types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{items.Key(template.Key())}}
	probe := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{o.Registry: read}}
	s.probes.Go(func() { s.client.Probe(ctx, probe) })
	return s, nil
}

// Close waits until all calls have returned. Later calls fail with store.ErrClosed.
func (s *Store) Close() error {
	s.stopProbe()
	s.probes.Wait()
	s.calls.close()
	return nil
}

// Location is the account and the region of a deployment.
type Location struct{ Account, Region string }

// Location returns the account and the region of the registry. With an emulator, both are invented.
func (s *Store) Location(ctx context.Context) (Location, error) {
	t, err := s.admin.Describe(ctx, s.client.Registry())
	if err != nil {
		return Location{}, err
	}
	// The ARN has the form arn:aws:dynamodb:REGION:ACCOUNT:table/NAME.
	parts := strings.SplitN(aws.ToString(t.TableArn), ":", 6)
	if len(parts) < 6 {
		return Location{}, fmt.Errorf("ARN %q of the registry has no account", aws.ToString(t.TableArn))
	}
	return Location{Account: parts[4], Region: parts[3]}, nil
}

// Usage returns the requests and units that the store has used so far.
func (s *Store) Usage() Usage { return s.client.Usage.Usage() }

// CountTables returns the number of all tables in the account and region.
func (s *Store) CountTables(ctx context.Context) (n int, err error) {
	err = s.calls.do(ctx, func() error {
		return s.admin.Names(ctx, "", func(string) bool {
			n++
			return true
		})
	})
	return n, err
}

// Examine checks whether a deployment can work. It changes nothing. Before the first start, the
// registry and all tables may be missing.
func Examine(ctx context.Context, x Examination) []Finding {
	p := wireParts(x.Options.withDefaults())
	return doctor.Examine(ctx, doctor.Options{
		Client: p.client, Admin: p.admin, Items: p.items, Tables: p.tables, Now: x.withDefaults().Now,
		Prefixes: x.Prefixes, Expired: x.Expired, TableQuota: x.TableQuota, Forecast: x.Forecast,
	})
}
