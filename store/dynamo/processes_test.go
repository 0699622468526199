package dynamo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/streams"
	"github.com/varvedb/varve/tests/dynamotest"
)

// process is the parts of one process over a store of its own.
type process struct {
	t       *testing.T
	store   *dynamo.Store
	router  *router.Router
	query   *query.Engine
	streams *streams.Registry
	rotator *rotator.Rotator
}

var holders atomic.Int64

// launch starts a process; way is its way to the endpoint, nil the plain one.
func launch(t *testing.T, url, registry string, way http.RoundTripper) *process {
	t.Helper()
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		if way != nil {
			o.HTTPClient = &http.Client{Transport: way}
		}
	})
	now := func() time.Time { return someTime.Add(time.Hour) }
	s := openWith(t, dynamo.Options{Client: client, Registry: registry, Now: now})
	policy := &retention.Policy{Prefix: "t", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 365 * 24 * time.Hour}}}
	known, layout := streams.New(s, now), grid.Policy{Future: 24 * time.Hour}
	return &process{
		t: t, store: s, streams: known,
		router: router.New(router.Options{Writer: s, Creator: s, Streams: known, Policy: policy, Grid: layout, Now: now}),
		query:  query.New(query.Options{Reader: s, Catalog: s, Streams: known, Policy: policy, Now: now, Parallel: 8}),
		rotator: rotator.New(rotator.Options{
			Catalog: s, Creator: s, Lifecycle: s, Items: s, Policy: rotator.Policy{Grid: layout, Retention: policy}, Now: now,
			Holder: fmt.Sprint(holders.Add(1)), Parallel: 8,
		}),
	}
}

// table is the one that readings of someTime go to.
func (p *process) table() grid.Table {
	month := grid.MonthOf(someTime)
	r, _ := grid.Policy{Future: 24 * time.Hour}.Locate(someTime, month)
	return grid.Table{Prefix: "t", Range: r, Month: month}
}

// write sends a reading, and returns its verdict.
func (p *process) write(r varve.Reading) varve.Verdict {
	p.t.Helper()
	q, err := p.router.Admit()
	if err != nil {
		p.t.Fatal(err)
	}
	defer q.Done()
	verdicts := make([]varve.Verdict, 1)
	if err := q.Write(p.t.Context(), []varve.Reading{r}, verdicts); err != nil {
		p.t.Fatal(err)
	}
	return verdicts[0]
}

// read returns how many readings the sensor has, read consistently.
func (p *process) read() int {
	p.t.Helper()
	rows, err := p.query.Open(p.t.Context(), query.Query{Series: sensor(someTime, "v", varve.IntValue(0)).Series, Window: varve.AllTime(), Consistent: true})
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for {
		some, err := rows.Next(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		if len(some) == 0 {
			return n
		}
		n += len(some)
	}
}

func (p *process) rotate() {
	p.t.Helper()
	if _, err := p.rotator.Run(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) expect(what string, v varve.Verdict, want varve.Outcome) {
	p.t.Helper()
	if v.Outcome != want {
		p.t.Errorf("%s: %s, want %s", what, v, want)
	}
}

// deleteByHand deletes a table as somebody at a console does.
func deleteByHand(t *testing.T, url, name string) {
	t.Helper()
	c := dynamotest.Client(url)
	unprotect := &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)}
	if _, err := c.UpdateTable(t.Context(), unprotect); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		t.Fatal(err)
	}
}

// TestTableDeletedByHand: a table that somebody deleted, and that rotation made
// anew, is read again as soon as a process writes to it that wrote before.
func TestTableDeletedByHand(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	a, b := launch(t, url, "t_reg", nil), launch(t, url, "t_reg", nil)
	a.rotate()
	b.expect("before", b.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	deleteByHand(t, url, b.table().Name())
	a.rotate()
	b.expect("after", b.write(sensor(someTime, "v", varve.IntValue(2))), varve.Stored)
	if n, m := a.read(), b.read(); n != 1 || m != 1 {
		t.Errorf("%d and %d readings are found", n, m)
	}
}

// TestClosedRowDeletedByHand: what was in a closed row of a table that is gone is
// no duplicate.
func TestClosedRowDeletedByHand(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	p := launch(t, url, "t_reg", nil)
	p.rotate()
	large := sensor(someTime, "v", varve.StringValue(strings.Repeat("x", 2000)))
	p.expect("before", p.write(large), varve.Stored)
	deleteByHand(t, url, p.table().Name())
	p.expect("after", p.write(large), varve.Stored)
	p.expect("again", p.write(large), varve.Duplicate)
	if n := p.read(); n != 1 {
		t.Errorf("%d readings", n)
	}
}

// denying refuses an action, as a policy does.
type denying struct{ action atomic.Value }

func (d *denying) RoundTrip(r *http.Request) (*http.Response, error) {
	if action, _ := d.action.Load().(string); action != "" && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+action) {
		return refusal(r, http.StatusBadRequest, "AccessDeniedException"), nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestCreationCutOff: what one process began to make, the next rotation of
// another ends.
func TestCreationCutOff(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	d := &denying{}
	a, b := launch(t, url, "t_reg", d), launch(t, url, "t_reg", nil)
	d.action.Store("UpdateTimeToLive") // as good as a kill
	if _, err := a.rotator.Run(t.Context()); err == nil {
		t.Fatal("nothing failed")
	}
	if h := a.rotator.Health(); h.Ahead.Existing != 0 || h.Usable {
		t.Errorf("health %+v", h)
	}
	b.rotate()
	if h := b.rotator.Health(); h.Ahead.Existing != h.Ahead.Wanted || !h.Usable {
		t.Errorf("health %+v", h)
	}
	name := b.table().Name()
	out, err := dynamotest.Client(url).DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil || out.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled {
		t.Errorf("time to live: %+v, %v", out, err)
	}
}

// TestForeignTables: another deployment's tables are neither written to, nor
// read, nor adopted, whatever was begun before.
func TestForeignTables(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	d := &denying{}
	a, b := launch(t, url, "t_reg", d), launch(t, url, "t_other", nil)
	d.action.Store("CreateTable")
	a.expect("a, which may not make it", a.write(sensor(someTime, "v", varve.IntValue(1))), varve.Rejected)
	b.expect("b", b.write(sensor(someTime, "secret", varve.IntValue(2))), varve.Stored)
	d.action.Store("")
	a.expect("a, when it is b's", a.write(sensor(someTime, "v", varve.IntValue(1))), varve.Rejected)
	if n, m := a.read(), b.read(); n != 0 || m != 1 {
		t.Errorf("a finds %d readings, b %d", n, m)
	}
	if owner := tagsOf(t, url, b.table().Name())[dynamo.OwnerTag]; owner != "t_other" {
		t.Errorf("the table is %s's", owner)
	}
	_, _ = a.rotator.Run(t.Context()) // whatever it says, it leaves b's alone
	b.expect("b again", b.write(sensor(someTime, "secret", varve.IntValue(2))), varve.Duplicate)
}

// unlisting hides a table from lists.
type unlisting struct{ name string }

func (u *unlisting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ListTables") {
		return resp, err
	}
	var list struct {
		TableNames             []string
		LastEvaluatedTableName string `json:",omitempty"`
	}
	if err := errors.Join(json.NewDecoder(resp.Body).Decode(&list), resp.Body.Close()); err != nil {
		return nil, err
	}
	list.TableNames = slices.DeleteFunc(list.TableNames, func(name string) bool { return name == u.name })
	text, err := json.Marshal(list)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp.Header.Del("X-Amz-Crc32")
	resp.Header.Del("Content-Length")
	return resp, err
}

// TestNotListedYet: a consistent read finds what is in a table that another
// process made just now, and that DynamoDB does not list yet.
func TestNotListedYet(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	a := launch(t, url, "t_reg", nil)
	b := launch(t, url, "t_reg", &unlisting{a.table().Name()})
	a.expect("a", a.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	if n := b.read(); n != 1 {
		t.Errorf("%d readings", n)
	}
}

// TestLostRegistry: with the registry gone, nothing is taken for missing; and
// when it was made anew, tables that carry this deployment's tag are its own.
func TestLostRegistry(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	p := launch(t, url, "t_reg", nil)
	p.rotate()
	p.expect("before", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	name := "t_reg"
	if _, err := dynamotest.Client(url).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err == nil {
		t.Error("the registry is not protected")
	}
	deleteByHand(t, url, name)
	if _, err := p.store.Get(t.Context(), []store.Key{{PK: "a", SK: "b"}}, true); varve.FailureOf(err) != varve.Unavailable || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("without the registry: %v", err)
	}
	again := launch(t, url, name, nil)
	again.rotate()
	again.expect("afterwards", again.write(sensor(someTime, "v", varve.IntValue(1))), varve.Duplicate)
	if n := again.read(); n != 1 {
		t.Errorf("%d readings", n)
	}
}

// TestOtherRegistry: a table that is no registry is refused, with what is wrong.
func TestOtherRegistry(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	s := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_reg"})
	newTable(t, s)
	_, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(url), Registry: tableOf("t", someTime).Name()})
	if err == nil || !strings.Contains(err.Error(), `its keys  are "series, ts", and "pk, sk" is wanted`) {
		t.Errorf("%v", err)
	}
}

// TestDropNotAllowed: a table that may not be deleted is what it was, and
// protected.
func TestDropNotAllowed(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	d := &denying{}
	p := launch(t, url, "t_reg", d)
	p.rotate()
	if err := p.store.Retire(t.Context(), p.table(), someTime); err != nil {
		t.Fatal(err)
	}
	d.action.Store("DeleteTable")
	if err := p.store.Drop(t.Context(), p.table()); err == nil || !strings.Contains(err.Error(), "dynamodb:DeleteTable") {
		t.Errorf("drop: %v", err)
	}
	if !aws.ToBool(describe(t, url, p.table().Name()).DeletionProtectionEnabled) {
		t.Error("it is not protected")
	}
	if err := p.store.Restore(t.Context(), p.table()); err != nil {
		t.Errorf("restore: %v", err)
	}
	p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
}

// TestUntaggedTable: without the owner's tag a table is not dropped, also if the
// registry has none.
func TestUntaggedTable(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	first := launch(t, url, "t_reg", nil)
	first.rotate()
	for _, name := range []string{"t_reg", first.table().Name()} {
		in := &dynamodb.UntagResourceInput{ResourceArn: describe(t, url, name).TableArn, TagKeys: []string{dynamo.OwnerTag}}
		if _, err := dynamotest.Client(url).UntagResource(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	p := launch(t, url, "t_reg", nil)
	if err := p.store.Retire(t.Context(), p.table(), someTime); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Drop(t.Context(), p.table()); !errors.Is(err, store.ErrRefused) {
		t.Errorf("drop: %v", err)
	}
}
