package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestKeepExpired_StopsDeletionOfRows reopens a store with KeepExpired after its table was created with
// the time to live on. The time to live must then be off in all tables, and a released hold must not turn
// it on.
func TestKeepExpired_StopsDeletionOfRows(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			o := dynamo.Options{Client: dynamotest.Client(url), Registry: "keep_registry", Now: time.Now}
			old := newTable(t, openWith(t, o))
			status := func(tb grid.Table) types.TimeToLiveStatus {
				t.Helper()
				name := tb.Name()
				out, err := dynamotest.Client(url).DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
				if err != nil {
					t.Fatal(err)
				}
				return out.TimeToLiveDescription.TimeToLiveStatus
			}
			if got := status(old); got != types.TimeToLiveStatusEnabled {
				t.Fatalf("before: %s", got)
			}
			o.KeepExpired = true
			s := openWith(t, o)
			if err := s.KeepExpired(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, reason := range []string{"case 7", ""} {
				if got := status(old); got != types.TimeToLiveStatusDisabled {
					t.Errorf("before hold %q: %s", reason, got)
				}
				if err := s.Hold(t.Context(), old, reason); err != nil {
					t.Fatal(err)
				}
			}
			if got := status(old); got != types.TimeToLiveStatusDisabled {
				t.Errorf("after a hold: %s", got)
			}
			made := tableOf("t", someTime.AddDate(0, 0, -7))
			if err := s.Create(t.Context(), made, store.Hot); err != nil {
				t.Fatal(err)
			}
			if got := status(made); got != types.TimeToLiveStatusDisabled {
				t.Errorf("a new table: %s", got)
			}
		})
	}
}
