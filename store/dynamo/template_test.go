package dynamo_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

const templateText = `{
	"billing": "provisioned",
	"capacity": {"hot": {"read": 40, "write": 50}, "warm": {"read": 20, "write": 5}},
	"table_class": {"cold": "standard_infrequent_access"},
	"tags": {"team": "fleet", "env": "test"},
	"classes": {"logs": {"billing": "on_demand", "deletion_protection": false, "tags": {"env": "logs"}}}
}`

func putTemplate(t *testing.T, s *dynamo.Store, text string) {
	t.Helper()
	it := store.Item{Key: dynamo.TemplateKey(), Attrs: map[string]varve.Value{dynamo.TemplateAttr: varve.StringValue(text)}}
	if err := s.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
}

func describe(t *testing.T, url, name string) *types.TableDescription {
	t.Helper()
	out, err := dynamotest.Client(url).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	return out.Table
}

func shape(d *types.TableDescription) string {
	mode, class := "provisioned", ""
	if d.BillingModeSummary != nil && d.BillingModeSummary.BillingMode == types.BillingModePayPerRequest {
		mode = "on demand"
	} else {
		mode += fmt.Sprintf(" %d/%d", *d.ProvisionedThroughput.ReadCapacityUnits, *d.ProvisionedThroughput.WriteCapacityUnits)
	}
	if d.TableClassSummary != nil && d.TableClassSummary.TableClass == types.TableClassStandardInfrequentAccess {
		class = ", infrequent access"
	}
	if aws.ToBool(d.DeletionProtectionEnabled) {
		class += ", protected"
	}
	return mode + class
}

// TestTemplate_AppliesToNewAndTunedTables changes the template. Tables that are created afterward, and
// provisioned tables that are tuned afterward, must have the settings of their class. A tuned on-demand
// table must stay on-demand. A protected table must still be droppable.
func TestTemplate_AppliesToNewAndTunedTables(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			s := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry", ClassOf: func(prefix string) string {
				_, class, _ := strings.Cut(prefix, "-")
				return class
			}})
			before, tb, logs := tableOf("before", someTime), tableOf("t", someTime), tableOf("t-logs", someTime)
			is := func(what, want string, name string) {
				t.Helper()
				if got := shape(describe(t, url, name)); got != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
			}
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			do(s.Create(t.Context(), before, store.Hot))
			is("without a template", "on demand, protected", before.Name())
			putTemplate(t, s, templateText)
			is("created before the template", "on demand, protected", before.Name())
			do(s.Create(t.Context(), tb, store.Hot))
			is("hot", "provisioned 40/50, protected", tb.Name())
			do(s.Create(t.Context(), logs, store.Warm))
			is("of another class", "on demand", logs.Name())
			do(s.Tune(t.Context(), tb, store.Warm))
			is("warm", "provisioned 20/5, protected", tb.Name())
			do(s.Tune(t.Context(), before, store.Warm))
			is("on-demand table from before", "on demand, protected", before.Name())
			do(s.Tune(t.Context(), tb, store.Cold))
			want := "on demand, infrequent access, protected"
			if e.Name == dynamotest.Local.Name { // DynamoDB Local has no table classes
				want = "on demand, protected"
			}
			is("cold", want, tb.Name())
			if owned := tagsOf(t, url, tb.Name()); e.Name == dynamotest.Dynoxide.Name && (owned["team"] != "fleet" || owned["env"] != "test" || owned[dynamo.OwnerTag] != "t_registry") {
				t.Errorf("tags %v, want team, env and owner", owned)
			}
			do(s.Retire(t.Context(), tb, someTime))
			do(s.Drop(t.Context(), tb))
		})
	}
}

func tagsOf(t *testing.T, url, name string) map[string]string {
	t.Helper()
	out, err := dynamotest.Client(url).ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: describe(t, url, name).TableArn})
	if err != nil {
		return nil // this emulator does not support tags
	}
	tags := map[string]string{}
	for _, tag := range out.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

// TestTemplate_NamesMistakes checks the error for each mistake in a template. With an invalid
// template, no table may be created.
func TestTemplate_NamesMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"biling": "on_demand"}`:                          "biling",
		`{"billing": "free"}`:                              `billing: "free" is unknown`,
		`{"billing": "provisioned"}`:                       "capacity.hot: is missing",
		`{"capacity": {"lukewarm": {"read":1,"write":1}}}`: "capacity.lukewarm: unknown tier",
		`{"capacity": {"hot": {"read":0,"write":1}}}`:      "capacity.hot: 0 read",
		`{"table_class": {"cold": "glacier"}}`:             `table_class.cold: "glacier"`,
		`{"classes": {"logs": {"billing": "free"}}}`:       "classes.logs.billing",
		`{"tags": {"varve:owner": "me"}}`:                  "tags",
		`{} {}`:                                            "text follows the JSON object",
		`[]`:                                               "cannot unmarshal",
	} {
		if _, err := dynamo.ParseTemplate([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	url := dynamotest.Dynoxide.Start(t)
	s := open(t, url, time.Now)
	putTemplate(t, s, `{"biling": "on_demand"}`)
	tb := tableOf("t", someTime)
	if err := s.Create(t.Context(), tb, store.Hot); err == nil || !strings.Contains(err.Error(), "biling") {
		t.Errorf("create: %v", err)
	}
	putTemplate(t, s, `{}`)
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Errorf("create with a corrected template: %v", err)
	}
}

// described is a transport that changes the descriptions of tables. In the changed descriptions, a
// table has used up its decreases of capacity for the day.
type described struct{ last time.Time }

func (d *described) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
		return resp, err
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	text = bytes.Replace(text, []byte(`"NumberOfDecreasesToday":0`), fmt.Appendf(nil, `"NumberOfDecreasesToday":4,"LastDecreaseDateTime":%d`, d.last.Unix()), 1)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp.Header.Del("X-Amz-Crc32")
	resp.Header.Del("Content-Length")
	return resp, nil
}

// TestTune_RespectsLimitOfDecreases tunes a table whose decreases of capacity are used up for the
// day. Tune must refuse to lower the capacity until an hour after the last decrease, but must raise
// it without delay.
func TestTune_RespectsLimitOfDecreases(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	d := &described{last: someTime}
	now := someTime.Add(time.Hour - time.Second)
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: d} })
	s := openWith(t, dynamo.Options{Client: client, Registry: "t_registry", Now: func() time.Time { return now }})
	putTemplate(t, s, templateText)
	tb := newTable(t, s)
	var e *varve.Error
	if err := s.Tune(t.Context(), tb, store.Warm); !errors.As(err, &e) || e.Failure != varve.Unavailable || !strings.Contains(e.Message, "lowered 4 times today") {
		t.Errorf("a fifth decrease: %v, want a refusal", err)
	}
	if got := shape(describe(t, url, tb.Name())); got != "provisioned 40/50, protected" {
		t.Errorf("the table is %s, want provisioned 40/50, protected", got)
	}
	now = someTime.Add(time.Hour)
	if err := s.Tune(t.Context(), tb, store.Warm); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	now = someTime
	if err := s.Tune(t.Context(), tb, store.Hot); err != nil {
		t.Errorf("raised: %v", err)
	}
	if got := shape(describe(t, url, tb.Name())); got != "provisioned 40/50, protected" {
		t.Errorf("the table is %s, want provisioned 40/50, protected", got)
	}
}

// TestHold_StopsDeletionOfExpiredRows puts a table on hold and releases it. DynamoDB must not
// delete its expired rows while it is on hold.
func TestHold_StopsDeletionOfExpiredRows(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			s := open(t, url, time.Now)
			tb := newTable(t, s)
			name := tb.Name()
			for _, step := range []struct {
				reason string
				want   types.TimeToLiveStatus
			}{{"", types.TimeToLiveStatusEnabled}, {"case 12", types.TimeToLiveStatusDisabled}, {"case 13", types.TimeToLiveStatusDisabled}, {"", types.TimeToLiveStatusEnabled}} {
				if err := s.Hold(t.Context(), tb, step.reason); err != nil {
					t.Fatal(err)
				}
				out, err := dynamotest.Client(url).DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
				if err != nil || out.TimeToLiveDescription.TimeToLiveStatus != step.want {
					t.Errorf("hold %q: %+v, %v", step.reason, out, err)
				}
			}
		})
	}
}

// unknown is a transport that makes some requests fail because their table is not found.
type unknown struct{ left int }

func (u *unknown) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	writes, err := writesRow(r)
	if err != nil {
		return nil, err
	}
	reads := strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && bytes.Contains(body, []byte(`"TableName":"varve_`))
	if u.left > 0 && (writes || reads) {
		u.left--
		return refusal(r, http.StatusBadRequest, "ResourceNotFoundException"), nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestStore_RetriesNotFoundTable makes some requests fail because an active table is not found.
// The store must retry, and must not treat the table as missing.
func TestStore_RetriesNotFoundTable(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	u := &unknown{}
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: u} })
	s := openWith(t, dynamo.Options{Client: client, Registry: "t_registry"})
	tb := tableOf("varve", someTime)
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	u.left = 3
	if got := send(t, s, tb, sensor(someTime, "v", varve.IntValue(1))); got != "s" || u.left != 0 {
		t.Errorf("verdict %s, want s; %d refusals left", got, u.left)
	}
	u.left = 3
	if got := stored(t, s, tb); len(got) != 1 || u.left != 0 {
		t.Errorf("%d readings, want 1; %d refusals left", len(got), u.left)
	}
	u.left = 1000
	res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: []varve.Reading{sensor(someTime, "v", varve.IntValue(2))}}})[0]
	if res.Err != nil || !res.Verdicts[0].Code.Retryable() {
		t.Errorf("not found for too long: %+v, want a retryable verdict", res)
	}
	r := store.Range{Table: tb, Series: sensor(someTime, "v", varve.IntValue(0)).Series, Window: varve.AllTime()}
	if _, err := s.Read(t.Context(), r, nil); errors.Is(err, store.ErrNoTable) || varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("read: %v", err)
	}
}
