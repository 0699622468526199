package dynamo

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
)

// Options are what a store works with. Client and Registry are required.
type Options struct {
	// Client talks to DynamoDB. Its retryer retries what can be retried; answers
	// that are cut short are retried, too. See NewRetryer.
	Client *dynamodb.Client
	// Registry is the name of the registry's table. Open makes it if it is not
	// there.
	Registry string
	// Owner is the value of the tag OwnerTag of this deployment's tables.
	// Default: the registry's name.
	Owner string
	// ClassOf returns the retention class of tables with a prefix, for the table
	// template; nil: none has one of its own.
	ClassOf func(prefix string) string
	// Now tells expired items; nil is time.Now.
	Now func() time.Time
	// Parallel is how many requests one call may have under way; 0 is 32.
	Parallel int
	// CacheFor is how long a list of tables serves if its version is current;
	// 0 is 10 seconds.
	CacheFor time.Duration
	// Conditions receives health.StoreUnreachable; nil is nobody.
	Conditions *health.Conditions
}

// OwnerTag is the tag that tables of Varve's carry.
const OwnerTag = "varve:owner"

const (
	defaultParallel = 32
	defaultCacheFor = 10 * time.Second
)

// Store is a store on DynamoDB. Use Open. It is safe for concurrent use, also
// by many processes.
type Store struct {
	opts   Options
	client *dynamodb.Client
	usage  usage
	tags   bool // tables keep their tags

	life   sync.RWMutex // held for reading by every call
	closed bool

	reach  reach
	stop   context.CancelFunc // of the probe
	probes sync.WaitGroup

	list    tableList
	noted   noted
	laid    laid
	surveys surveys
	closes  closedRows
	expects expectations
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Versioned = (*Store)(nil)
	_ store.Surveyor  = (*Store)(nil)
)

// Open returns the store, with its registry ready.
func Open(ctx context.Context, o Options) (*Store, error) {
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
	s := &Store{opts: o, reach: reach{conditions: o.Conditions}}
	s.client = retryCut(s.reach.watched(o.Client))
	if err := s.openRegistry(ctx); err != nil {
		return nil, err
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.probes.Go(func() { s.probe(ctx) })
	return s, nil
}

// enter begins a call; leave ends it.
func (s *Store) enter(ctx context.Context) error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		s.life.RUnlock()
		return err
	}
	return nil
}

func (s *Store) leave() { s.life.RUnlock() }

// Close waits for calls under way.
func (s *Store) Close() error {
	s.stop()
	s.probes.Wait()
	s.life.Lock()
	defer s.life.Unlock()
	s.closed = true
	return nil
}
