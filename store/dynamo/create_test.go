package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/tests/dynamotest"
)

func ttlStatusOf(t *testing.T, url, name string) types.TimeToLiveStatus {
	t.Helper()
	out, err := dynamotest.Client(url).DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	return out.TimeToLiveDescription.TimeToLiveStatus
}

// TestCreate_LeavesTTLOfRestoredTableOff creates a table as a restore from an archive does.
// DynamoDB refuses a second change of the time to live within an hour, so the hold must not change
// it.
func TestCreate_LeavesTTLOfRestoredTableOff(t *testing.T) {
	t.Parallel()
	url, h := standIn(t), &actionHook{action: "UpdateTimeToLive"}
	p := launch(t, url, "t_reg", h)
	before := h.sent.Load()
	if err := p.store.Create(t.Context(), p.table(), store.Cold); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Hold(t.Context(), p.table(), "restored"); err != nil {
		t.Fatal(err)
	}
	if n := h.sent.Load() - before; n != 0 {
		t.Errorf("%d changes of the time to live, want 0", n)
	}
	if err := p.store.Hold(t.Context(), p.table(), ""); err != nil {
		t.Fatal(err)
	}
	if got := ttlStatusOf(t, url, p.table().Name()); got != types.TimeToLiveStatusEnabled {
		t.Errorf("after the release of the hold: %s, want %s", got, types.TimeToLiveStatusEnabled)
	}
}

// TestCreate_LeavesTTLOfHeldTableOff deletes a table on hold outside of Varve. The recreated table is on
// hold, too, so DynamoDB must not delete its expired rows.
func TestCreate_LeavesTTLOfHeldTableOff(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	p := launch(t, url, "t_reg", nil)
	p.rotate()
	if err := p.store.Hold(t.Context(), p.table(), "case 12"); err != nil {
		t.Fatal(err)
	}
	deleteByHand(t, url, p.table().Name())
	if err := p.store.Create(t.Context(), p.table(), store.Hot); err != nil {
		t.Fatal(err)
	}
	if got := ttlStatusOf(t, url, p.table().Name()); got != types.TimeToLiveStatusDisabled {
		t.Errorf("time to live: %s, want %s", got, types.TimeToLiveStatusDisabled)
	}
}

// TestCreate_FailsWithoutRecord deletes the record of a table while the table is being created. The
// table then looks like one of another program, so Create must not succeed.
func TestCreate_FailsWithoutRecord(t *testing.T) {
	t.Parallel()
	url, h := standIn(t), &actionHook{action: "UpdateTimeToLive"}
	p := launch(t, url, "t_reg", h)
	h.sent.Store(0) // the start of the process has created the registry
	h.before = func() {
		if err := p.store.Delete(t.Context(), store.Key{PK: "TABLES", SK: p.table().Name()}); err != nil {
			t.Error(err)
		}
	}
	if err := p.store.Create(t.Context(), p.table(), store.Hot); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("create: %v, want a failure that can be retried", err)
	}
}

// TestCreate_RepeatsAfterChangedRecord recreates a table while another process accepts its loss, which
// deletes the record. The new table must have a record.
func TestCreate_RepeatsAfterChangedRecord(t *testing.T) {
	t.Parallel()
	url, h := standIn(t), &actionHook{action: "PutItem"}
	first := launch(t, url, "t_reg", nil)
	first.rotate()
	tb := first.table()
	deleteByHand(t, url, tb.Name())
	h.before = func() {
		if err := first.store.AcceptLoss(t.Context(), tb); err != nil {
			t.Error(err)
		}
	}
	p := launch(t, url, "t_reg", h)
	if err := p.store.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
}

// TestCreate_AcceptsTableOfConcurrentProcess creates a table after another process has read that the table
// has no record. The table must not count as one of another program.
func TestCreate_AcceptsTableOfConcurrentProcess(t *testing.T) {
	t.Parallel()
	url, h := standIn(t), &actionHook{action: "DescribeTable"}
	first, p := launch(t, url, "t_reg", nil), launch(t, url, "t_reg", h)
	h.sent.Store(0) // the start of the process has described the registry
	h.before = func() {
		if err := first.store.Create(t.Context(), first.table(), store.Hot); err != nil {
			t.Error(err)
		}
	}
	if err := p.store.Create(t.Context(), p.table(), store.Hot); err != nil {
		t.Errorf("create: %v, want success", err)
	}
}
