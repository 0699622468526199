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

// process has the parts of one running Varve process, with a store of its own.
type process struct {
	t       *testing.T
	store   *dynamo.Store
	router  *router.Router
	query   *query.Engine
	streams *streams.Registry
	rotator *rotator.Rotator
}

var holders atomic.Int64

// launch starts a process. If link is not nil, requests are sent through it.
func launch(t *testing.T, url, registry string, link http.RoundTripper) *process {
	t.Helper()
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		if link != nil {
			o.HTTPClient = &http.Client{Transport: link}
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

// table returns the table for readings whose event time and arrival are someTime.
func (p *process) table() grid.Table {
	month := grid.MonthOf(someTime)
	r, _ := grid.Policy{Future: 24 * time.Hour}.Locate(someTime, month)
	return grid.Table{Prefix: "t", Range: r, Month: month}
}

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

// read returns the number of readings of the sensor that a consistent read finds.
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

// deleteByHand deletes a table outside of Varve, as an operator in the AWS console could.
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

// TestWrite_RecreatesDeletedTable deletes a table outside of Varve. After the next rotation, a
// process that has written to the table must be able to write again. Reads must find the new
// reading.
func TestWrite_RecreatesDeletedTable(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	a, b := launch(t, url, "t_reg", nil), launch(t, url, "t_reg", nil)
	a.rotate()
	b.expect("before", b.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	deleteByHand(t, url, b.table().Name())
	a.rotate()
	b.expect("after", b.write(sensor(someTime, "v", varve.IntValue(2))), varve.Stored)
	if n, m := a.read(), b.read(); n != 1 || m != 1 {
		t.Errorf("a finds %d readings and b %d, want 1 each", n, m)
	}
}

// TestWrite_DropsClosedRowsOfDeletedTable deletes a table while a closed row of it is cached. The
// reading of that row must not be a duplicate afterward.
func TestWrite_DropsClosedRowsOfDeletedTable(t *testing.T) {
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
		t.Errorf("%d readings, want 1", n)
	}
}

// denying is a transport that denies one action, as an IAM policy does.
type denying struct{ action atomic.Value }

func (d *denying) RoundTrip(r *http.Request) (*http.Response, error) {
	if action, _ := d.action.Load().(string); action != "" && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+action) {
		return refusal(r, http.StatusBadRequest, "AccessDeniedException"), nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestCreate_ContinuesInterruptedCreation interrupts the creation of a table. The next rotation
// of another process must complete it.
func TestCreate_ContinuesInterruptedCreation(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	d := &denying{}
	a, b := launch(t, url, "t_reg", d), launch(t, url, "t_reg", nil)
	d.action.Store("UpdateTimeToLive") // stops the creation halfway, as if the process were killed
	if _, err := a.rotator.Run(t.Context()); err == nil {
		t.Fatal("the rotation succeeded without the right to set the TTL")
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

// TestForeignTables_StayUntouched denies a store the creation of a table, which another deployment then
// creates. The store must not write to, read or adopt this table.
func TestForeignTables_StayUntouched(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	d := &denying{}
	a, b := launch(t, url, "t_reg", d), launch(t, url, "t_other", nil)
	d.action.Store("CreateTable")
	a.expect("a, without the right to create the table", a.write(sensor(someTime, "v", varve.IntValue(1))), varve.Rejected)
	b.expect("b", b.write(sensor(someTime, "secret", varve.IntValue(2))), varve.Stored)
	d.action.Store("")
	a.expect("a, after b has created the table", a.write(sensor(someTime, "v", varve.IntValue(1))), varve.Rejected)
	if n, m := a.read(), b.read(); n != 0 || m != 1 {
		t.Errorf("a finds %d readings and b %d, want 0 and 1", n, m)
	}
	if owner := tagsOf(t, url, b.table().Name())[dynamo.OwnerTag]; owner != "t_other" {
		t.Errorf("the table belongs to %s, want t_other", owner)
	}
	_, _ = a.rotator.Run(t.Context()) // may fail, but must not change the tables of b
	b.expect("b again", b.write(sensor(someTime, "secret", varve.IntValue(2))), varve.Duplicate)
}

// unlisting is a transport that removes one table from the lists of tables.
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

// TestRead_FindsTableMissingFromList checks that a consistent read finds a new table that
// DynamoDB does not list yet.
func TestRead_FindsTableMissingFromList(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	a := launch(t, url, "t_reg", nil)
	b := launch(t, url, "t_reg", &unlisting{a.table().Name()})
	a.expect("a", a.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	if n := b.read(); n != 1 {
		t.Errorf("%d readings, want 1", n)
	}
}

// TestOpen_AdoptsTablesAfterLostRegistry deletes the registry. Requests must fail until it is
// restored or recreated. A new registry must adopt the tables with the owner tag.
func TestOpen_AdoptsTablesAfterLostRegistry(t *testing.T) {
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
		t.Errorf("%d readings, want 1", n)
	}
}

// TestOpen_HoldsAdoptedTables deletes the registry of a deployment with a table on hold. The new registry must put
// this table on hold again, and no other table.
func TestOpen_HoldsAdoptedTables(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	p := launch(t, url, "t_reg", nil)
	p.rotate()
	p.expect("before", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	if err := p.store.Hold(t.Context(), p.table(), "case 17"); err != nil {
		t.Fatal(err)
	}
	deleteByHand(t, url, "t_reg")
	again := launch(t, url, "t_reg", nil)
	again.rotate()
	infos, err := again.rotator.Tables(t.Context())
	if err != nil || len(infos) < 2 {
		t.Fatalf("%d tables, %v", len(infos), err)
	}
	for i := range infos {
		if in := &infos[i]; !in.Owned || (in.Hold != "") != (in.Table == p.table()) {
			t.Errorf("%s: owned %t, hold %q, want only %s on hold", in.Table, in.Owned, in.Hold, p.table())
		}
	}
}

// TestOpen_RefusesTableOfOtherForm checks that Open fails for a table that does not have the keys
// of a registry.
func TestOpen_RefusesTableOfOtherForm(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	s := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_reg"})
	newTable(t, s)
	_, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(url), Registry: tableOf("t", someTime).Name()})
	if err == nil || !strings.Contains(err.Error(), `its keys are "series, ts", not "pk, sk"`) {
		t.Errorf("%v", err)
	}
}

// TestDrop_UndoesRefusedDeletion drops a table without permission to delete it. Afterward, the
// table must still be retired and protected.
func TestDrop_UndoesRefusedDeletion(t *testing.T) {
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
		t.Error("the table is not protected after the refused drop")
	}
	if err := p.store.Restore(t.Context(), p.table()); err != nil {
		t.Errorf("restore: %v", err)
	}
	p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
}

// TestDrop_RefusesTableWithoutOwnerTag removes the owner tags. A table without an owner tag must
// not be dropped, even if the registry has no owner tag either.
func TestDrop_RefusesTableWithoutOwnerTag(t *testing.T) {
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
