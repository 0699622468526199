package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/tests/dynamotest"
)

type (
	number = types.AttributeValueMemberN
	text   = types.AttributeValueMemberS
	member = types.AttributeValueMemberM
	attrs  = map[string]types.AttributeValue
)

// handmade returns two rows: the example of docs/data-model.md, "DynamoDB rows", and an overflow
// row below it. Their time is someTime, 2026-11-16T12:00:00Z.
func handmade() []attrs {
	return []attrs{
		{
			"series":      &text{Value: "acme/weather/sensor_01"},
			"ts":          &number{Value: "1794830400000"},
			"_ids":        &types.AttributeValueMemberSS{Value: []string{"first", "second", "~--EcEHJ0CP1xDFm"}},
			"_at":         &member{Value: attrs{"first": &number{Value: "1794830401"}, "second": &number{Value: "1794830401.25"}, "~--EcEHJ0CP1xDFm": &number{Value: "1794830402"}}},
			"temperature": &member{Value: attrs{"first": &number{Value: "22.4"}, "second": &number{Value: "22.5"}, "~--EcEHJ0CP1xDFm": &number{Value: "22.4"}}},
			"unit":        &member{Value: attrs{"first": &text{Value: "C"}}},
			"on":          &member{Value: attrs{"second": &types.AttributeValueMemberBOOL{Value: true}}},
			"place":       &member{Value: attrs{"first": &member{Value: attrs{"lat": &number{Value: "52.5"}}}}},
			"_ts":         &member{Value: attrs{"second": &number{Value: "7"}}},
			"_scale":      &member{Value: attrs{"second": &member{Value: attrs{"temperature": &number{Value: "2"}}}}},
		},
		{
			"series":      &text{Value: "acme/weather/sensor_01"},
			"ts":          &number{Value: "1794830400000.4"},
			"_ids":        &types.AttributeValueMemberSS{Value: []string{"third"}},
			"_at":         &member{Value: attrs{"third": &number{Value: "1794830403"}}},
			"temperature": &member{Value: attrs{"third": &number{Value: "-1"}}},
		},
	}
}

// TestRead_ReadsHandmadeRows reads rows that another program wrote in the form of
// docs/data-model.md. Readings that are resent must be duplicates or conflicts.
func TestRead_ReadsHandmadeRows(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	s := open(t, url, time.Now)
	tb := tableOf("t", someTime)
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	name := tb.Name()
	for _, row := range handmade() {
		if _, err := dynamotest.Client(url).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: row}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{ // expected readings, ordered by time, then by id
		`first 0s +1s place={"lat":52.5} temperature=22.4 unit=C`,
		`second 0s +1.25s on=true temperature=22.50 ts=7`,
		`third 0s +3s temperature=-1`,
		`EHJ0CP1xDFm 1µs +2s temperature=22.4`,
	}
	got := stored(t, s, tb)
	for i := range got {
		r := &got[i]
		line := r.ID.String() + " " + r.Time.Sub(someTime).String() + " +" + r.Arrived.Sub(someTime).String()
		for _, f := range r.Fields {
			line += " " + f.Name + "=" + f.Value.String()
		}
		if i >= len(want) || line != want[i] {
			t.Errorf("reading %d: %s", i, line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d readings, want %d", len(got), len(want))
	}
	other := sensor(someTime, "temperature", varve.IntValue(1))
	other.ID = got[0].ID
	if verdicts := send(t, s, tb, got[0], other); verdicts != "dr" {
		t.Errorf("a stored reading and one with other values: verdicts %s, want dr", verdicts)
	}
}
