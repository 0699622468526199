package health

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Name identifies a condition.
type Name string

// The conditions. A new condition needs a constant here and a line in kinds.
const (
	RotationFailing  Name = "rotation_failing"  // a step of the last rotation failed
	DiskLow          Name = "disk_low"          // the disk has less free space than required
	StoreUnreachable Name = "store_unreachable" // the store can be neither read nor written
	DataDamaged      Name = "data_damaged"      // data on disk is damaged, and requests that depend on it are refused

	KinesisUnreachable Name = "kinesis_unreachable" // the consumer cannot read its Kinesis stream
	SQSUnreachable     Name = "sqs_unreachable"     // the consumer cannot read its SQS queue
	BrokerUnreachable  Name = "broker_unreachable"  // the MQTT client is not subscribed at its broker
	BrokerDropping     Name = "broker_dropping"     // the MQTT broker reports dropped messages
	ArchiveFailing     Name = "archive_failing"     // a table cannot be archived, or its archive failed the check before a drop
)

// kinds describes each condition without details of the deployment. If the field "blocks" is true,
// readings are rejected during the condition.
var kinds = []struct {
	name   Name
	blocks bool
	about  string
}{
	{RotationFailing, false, "a rotation step fails"},
	{DiskLow, true, "the disk is nearly full: readings are rejected until space is free"},
	{StoreUnreachable, true, "the store cannot be reached"},
	{DataDamaged, false, "damaged data is refused"},
	{KinesisUnreachable, false, "the Kinesis stream cannot be read"},
	{SQSUnreachable, false, "the queue of SQS cannot be read"},
	{BrokerUnreachable, false, "the broker of MQTT cannot be reached"},
	{BrokerDropping, false, "the broker of MQTT drops messages"},
	{ArchiveFailing, false, "tables cannot be archived"},
}

// Names returns the names of all conditions.
func Names() []Name {
	names := make([]Name, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// Blocks reports whether readings are refused while the condition is set.
func (n Name) Blocks() bool {
	for i := range kinds {
		if kinds[i].name == n {
			return kinds[i].blocks
		}
	}
	return false
}

// About returns a public description of the condition, without names, paths or numbers.
func (n Name) About() string {
	for i := range kinds {
		if kinds[i].name == n {
			return kinds[i].about
		}
	}
	return string(n)
}

// Condition is a condition that is set, with its cause.
type Condition struct {
	Name    Name
	Since   time.Time // when the condition was set
	Message string    // for the operator: the fault and its remedy
}

// Options configures Conditions. Nil fields have useful defaults.
type Options struct {
	Now func() time.Time // if nil, time.Now
	// Changed is called when a condition is set or cleared, not when only its message changes. The
	// argument "holds" is true if the condition was set. Calls are made one at a time. Changed must
	// not call methods of the Conditions.
	Changed func(c Condition, holds bool)
}

// Conditions has the conditions that are set. It is safe for concurrent use. A nil *Conditions
// ignores all changes, and is always empty.
type Conditions struct {
	opts Options
	mu   sync.Mutex
	all  []Condition // in the order of their names
}

// New returns an empty set.
func New(o Options) *Conditions {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Changed == nil {
		o.Changed = func(Condition, bool) {}
	}
	return &Conditions{opts: o}
}

// Set records that a condition begins. If the condition is set already, Set replaces its message.
func (c *Conditions) Set(name Name, message string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, found := c.find(name)
	if found {
		c.all[at].Message = message
		return
	}
	set := Condition{Name: name, Since: c.opts.Now().UTC(), Message: message}
	c.all = slices.Insert(c.all, at, set)
	c.opts.Changed(set, true)
}

// Clear records that a condition has ended.
func (c *Conditions) Clear(name Name) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, found := c.find(name)
	if !found {
		return
	}
	was := c.all[at]
	c.all = slices.Delete(c.all, at, at+1)
	c.opts.Changed(was, false)
}

// List returns the conditions that are set, in the order of their names.
func (c *Conditions) List() []Condition {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// Holds reports whether a condition is set.
func (c *Conditions) Holds(name Name) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, found := c.find(name)
	return found
}

// find returns the index of a condition, or the index at which to insert it. The caller holds
// the lock.
func (c *Conditions) find(name Name) (at int, found bool) {
	return slices.BinarySearchFunc(c.all, name, func(have Condition, want Name) int { return cmp.Compare(have.Name, want) })
}
