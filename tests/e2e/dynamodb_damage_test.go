package e2e

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/varvetest"
)

// onDynamo is a server that uses an emulator of DynamoDB. Its store has three readings of the
// device d0, in one table.
type onDynamo struct {
	t      *testing.T
	client *dynamodb.Client
	dir    string
	args   []string // arguments of commands that open the store
	server *varvetest.Server
	first  time.Time // event time of the first reading; each of the others is a minute later
	table  string
}

// tablePattern matches the name of a table of readings in an answer.
var tablePattern = regexp.MustCompile(`varve_\d{10}_\d{10}_\d\d_\d{4}`)

func fillDynamo(t *testing.T, args ...string) *onDynamo {
	t.Helper()
	url := dynamotest.Dynoxide.Start(t)
	d := &onDynamo{t: t, client: dynamotest.Client(url), dir: t.TempDir(), first: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)}
	d.args = append([]string{"--store", "dynamodb", "--set", "store.endpoint=" + url}, args...)
	d.server = start(t, d.dir, d.args...)
	var body strings.Builder
	for i := range 3 {
		fmt.Fprintf(&body, `{"device":"d0","time":"%s","fields":{"a":%d}}`+"\n", d.timeOf(i), i)
	}
	if status, text := send(t, http.MethodPost, d.server.URL+"/v1/streams/fleet/readings", body.String()); status != http.StatusOK {
		t.Fatalf("write: %d: %s", status, text)
	}
	status, text := d.read("")
	if d.table = tablePattern.FindString(text); status != http.StatusOK || strings.Count(text, `"arrived"`) != 3 || d.table == "" {
		t.Fatalf("read: %d: %s", status, text)
	}
	return d
}

func (d *onDynamo) timeOf(i int) string {
	return d.first.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
}

func (d *onDynamo) read(params string) (status int, text string) {
	d.t.Helper()
	return send(d.t, http.MethodGet, d.server.URL+"/v1/streams/fleet/devices/d0/readings"+params, "")
}

// run runs a command on the store. It fails the test unless the exit code is as wanted and the
// output has all wanted texts.
func (d *onDynamo) run(command string, code int, want ...string) {
	d.t.Helper()
	text, is := varveIn(d.t, d.dir, append(strings.Fields(command), d.args...)...)
	expectText(d.t, "varve "+command, text, is, code, want...)
}

// expectText fails the test unless the exit code or status is as wanted, and the text has all
// wanted parts. Several spaces in the text count as one.
func expectText(t *testing.T, action, text string, is, code int, want ...string) {
	t.Helper()
	if is != code {
		t.Errorf("%s: %d: %s\nwant %d", action, is, text, code)
	}
	plain := strings.Join(strings.Fields(text), " ")
	for _, part := range want {
		if !strings.Contains(plain, part) {
			t.Errorf("%s: %s\nwant %q", action, text, part)
		}
	}
}

func (d *onDynamo) stop() {
	d.t.Helper()
	if err := d.server.Stop(); err != nil {
		d.t.Fatalf("the server ended with %v\n%s", err, d.server.Output())
	}
}

// TestDamagedRow_IsNamedAndSkippedOnRequest removes the ids of one row. Reads of the row over HTTP
// and on the command line must name its table, series and ts. With damaged=skip or --skip-damaged,
// such reads must return the other rows.
func TestDamagedRow_IsNamedAndSkippedOnRequest(t *testing.T) {
	d := fillDynamo(t)
	ts := fmt.Sprint(d.first.Add(time.Minute).UnixMilli())
	if _, err := d.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &d.table, UpdateExpression: aws.String("REMOVE #i"), ConditionExpression: aws.String("attribute_exists(#i)"),
		ExpressionAttributeNames: map[string]string{"#i": "_ids"},
		Key: map[string]types.AttributeValue{
			"series": &types.AttributeValueMemberS{Value: "default/fleet/d0"}, "ts": &types.AttributeValueMemberN{Value: ts},
		},
	}); err != nil {
		t.Fatal(err)
	}
	place := "table " + d.table + ": row default/fleet/d0 at ts " + ts
	for _, format := range []string{"json", "ndjson", "csv"} {
		status, text := d.read("?format=" + format)
		expectText(t, format, text, status, http.StatusInternalServerError, `"code":"damaged"`, place, "damaged=skip")
		status, text = d.read("?damaged=skip&format=" + format)
		expectText(t, format+" with damaged=skip", text, status, http.StatusOK, d.timeOf(0), d.timeOf(2))
		if strings.Contains(text, d.timeOf(1)) {
			t.Errorf("%s with damaged=skip returns the damaged reading: %s", format, text)
		}
	}
	coverage := `"damaged":[{"table":"` + d.table + `","series":"default/fleet/d0","ts":"` + ts + `","problem":"it has no _ids`
	status, text := d.read("?damaged=skip")
	expectText(t, "coverage", text, status, http.StatusOK, `"failed":["`+d.table+`"]`, coverage)

	text, code := varveIn(t, d.dir, "query", "fleet", "d0", "--server", d.server.URL)
	expectText(t, "varve query", text, code, 1, place)
	text, code = varveIn(t, d.dir, "query", "fleet", "d0", "--skip-damaged", "-o", "csv", "--server", d.server.URL)
	expectText(t, "varve query --skip-damaged", text, code, 0, d.timeOf(0), d.timeOf(2),
		`Left out as damaged: row "default/fleet/d0" at ts `+ts+" of table "+d.table+": it has no _ids")
	if strings.Contains(text, d.timeOf(1)) {
		t.Errorf("varve query --skip-damaged prints the damaged reading: %s", text)
	}
}

// TestRepair_RestoresStreamOnDynamoDB deletes the stream's item from the registry. varve repair
// must name the stream, and must restore it only with --apply.
func TestRepair_RestoresStreamOnDynamoDB(t *testing.T) {
	d := fillDynamo(t, "--set", "streams.fleet.row_window=1h")
	d.stop()
	key := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "TENANT#default"}, "sk": &types.AttributeValueMemberS{Value: "STREAM#fleet"},
	}
	item := func() map[string]types.AttributeValue {
		out, err := d.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("varve_registry"), Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item
	}
	was := item()
	if len(was) == 0 {
		t.Fatal("the registry has no item of the stream")
	}
	d.run("repair", 0, "Nothing to repair.")
	if _, err := d.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("varve_registry"), Key: key}); err != nil {
		t.Fatal(err)
	}
	step := "write stream default/fleet: classes default, row window 1h0m0s, 0 devices spread"
	d.run("repair", 0, step, "the registry does not")
	if is := item(); len(is) > 0 {
		t.Errorf("repair without --apply wrote %v", is)
	}
	d.run("repair --apply", 0, step)
	if is := item(); !reflect.DeepEqual(is, was) {
		t.Errorf("restored as %s, was %s", attributes(is), attributes(was))
	}
	d.run("repair", 0, "Nothing to repair.")
}

func attributes(item map[string]types.AttributeValue) string {
	var b strings.Builder
	for name, value := range item {
		fmt.Fprintf(&b, "%s=%+v ", name, reflect.ValueOf(value).Elem().Field(0))
	}
	return b.String()
}

// TestRepair_AcceptsLossOnDynamoDB deletes a table outside of Varve. varve doctor and the coverage
// of answers must name the table until a repair accepts its loss.
func TestRepair_AcceptsLossOnDynamoDB(t *testing.T) {
	d := fillDynamo(t)
	const doctor = "doctor --listen 127.0.0.1:0"
	d.run(doctor, 0, "deleted tables good none")
	d.stop()
	unprotect := &dynamodb.UpdateTableInput{TableName: &d.table, DeletionProtectionEnabled: aws.Bool(false)}
	if _, err := d.client.UpdateTable(t.Context(), unprotect); err != nil {
		t.Fatal(err)
	}
	if _, err := d.client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &d.table}); err != nil {
		t.Fatal(err)
	}
	lost := "deleted tables wrong deleted, with readings that had not expired: " + d.table
	d.run(doctor, 1, lost)
	d.run("repair --apply", 0, "leave "+d.table, "--accept-loss")
	d.run(doctor, 1, lost)
	d.server = start(t, d.dir, d.args...) // the server recreates the table
	status, text := d.read("")
	expectText(t, "read", text, status, http.StatusOK, `"readings":[]`, `"missing":["`+d.table+`"]`)
	d.run(doctor, 1, lost)
	d.run("repair --accept-loss", 0, "accept loss "+d.table)
	d.run(doctor, 1, lost)
	d.run("repair --accept-loss --apply", 0, "accept loss "+d.table)
	d.run(doctor, 0, "deleted tables good none")
	d.run("repair", 0, "Nothing to repair.")
	d.stop()
	d.server = start(t, d.dir, d.args...)
	status, text = d.read("")
	expectText(t, "read after the repair", text, status, http.StatusOK, `"readings":[]`, `"missing":[]`)
}
