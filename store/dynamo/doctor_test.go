package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

const patientRegistry = "patient_registry"

// patient creates a deployment without mistakes on an emulator, and returns its Examination.
func patient(t *testing.T, url string) dynamo.Examination {
	t.Helper()
	client := dynamotest.Client(url)
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: client, Registry: patientRegistry})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dynamo.Examination{Options: dynamo.Options{Client: client, Registry: patientRegistry}, Prefixes: []string{"patient"}}
}

func checksIn(all []dynamo.Finding, state dynamo.State) (checks []string) {
	for _, f := range all {
		if f.State == state {
			checks = append(checks, f.Check)
		}
	}
	return checks
}

// TestExamine_FindsNothingWrongWithNewDeployment examines a new deployment on each emulator.
// Nothing may be wrong, and Examine must change nothing.
func TestExamine_FindsNothingWrongWithNewDeployment(t *testing.T) {
	for _, e := range emulators {
		t.Run(e.Name, func(t *testing.T) {
			x := patient(t, e.Start(t))
			all := dynamo.Examine(t.Context(), x)
			if wrong := checksIn(all, dynamo.Wrong); len(wrong) > 0 {
				t.Errorf("wrong: %v\n%+v", wrong, all)
			}
			good := checksIn(all, dynamo.Good)
			for _, check := range []string{"registry", "registry keys and indexes", "registry TTL", "table template", "permission UpdateItem", "number of tables"} {
				if !slices.Contains(good, check) {
					t.Errorf("%s is not good; good are %v", check, good)
				}
			}
			tables, err := x.Client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
			if err != nil || len(tables.TableNames) != 1 {
				t.Errorf("after the examination: tables %v, %v, want the registry only", tables.TableNames, err)
			}
			items, err := x.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(patientRegistry)})
			if err != nil || len(items.Items) != 0 {
				t.Errorf("after the examination: items %v, %v, want none", items.Items, err)
			}
		})
	}
}

// TestExamine_LeavesInterruptedDrop examines a deployment with the record of a deleted table, as a process
// that may only read. All tables must be listed, and the registry must not change.
func TestExamine_LeavesInterruptedDrop(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	interruptDrop(t, url)
	p := launch(t, url, "t_reg", nil)
	if err := p.store.Create(t.Context(), tableOf("t", someTime.AddDate(0, -6, 0)), store.Hot); err != nil {
		t.Fatal(err)
	}
	scan := func() string {
		out, err := dynamotest.Client(url).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("t_reg")})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(out.Items)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := scan()
	reader := &denying{}
	reader.action.Store("DeleteItem")
	listed := 0
	all := dynamo.Examine(t.Context(), dynamo.Examination{
		Options: dynamo.Options{Client: hooked(url, reader), Registry: "t_reg"}, Prefixes: []string{"t"},
		Forecast: func(_ context.Context, infos []store.Info, _ int) (string, string, bool, error) {
			listed = len(infos)
			return "enough", "", false, nil
		},
	})
	if listed != 1 || !slices.Contains(checksIn(all, dynamo.Good), "future tables") {
		t.Errorf("%d tables were listed, want 1: %+v", listed, all)
	}
	if after := scan(); after != before {
		t.Errorf("the registry was\n%s\nafter the examination, it is\n%s", before, after)
	}
}

// TestExamine_AdoptsNoTable examines a deployment whose registry was recreated, so that it lacks the records of
// the tables. The examination must leave their adoption to the service.
func TestExamine_AdoptsNoTable(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	p := launch(t, url, "t_reg", nil)
	p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	deleteByHand(t, url, "t_reg")
	launch(t, url, "t_reg", nil)
	listed := 0
	dynamo.Examine(t.Context(), dynamo.Examination{
		Options: dynamo.Options{Client: dynamotest.Client(url), Registry: "t_reg"}, Prefixes: []string{"t"},
		Forecast: func(_ context.Context, infos []store.Info, _ int) (string, string, bool, error) {
			listed = len(infos)
			return "enough", "", false, nil
		},
	})
	out, err := dynamotest.Client(url).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("t_reg")})
	if err != nil || listed != 1 || len(out.Items) > 0 {
		t.Errorf("%d tables were listed, and the registry has %v, %v, want 1 table and no record", listed, out.Items, err)
	}
}

// detour is a transport that can change requests or answers.
type detour func(op string, body []byte, next func() (*http.Response, error)) (*http.Response, error)

func (w detour) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return w(op, body, func() (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if resp != nil {
			resp.Request = r
		}
		return resp, err
	})
}

func on(x *dynamo.Examination, w detour) {
	x.Client = dynamodb.New(x.Client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: w}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 1 })
	})
}

func answered(t *testing.T, op string, change func(answer map[string]any)) detour {
	return func(is string, _ []byte, next func() (*http.Response, error)) (*http.Response, error) {
		resp, err := next()
		if err != nil || is != op {
			return resp, err
		}
		var answer map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Error(err)
		}
		change(answer)
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		resp.Header.Del("X-Amz-Crc32")
		resp.Header.Del("Content-Length")
		return resp, nil
	}
}

// refused returns a detour that refuses an operation if its request contains a text.
func refused(op, within, code string) detour {
	return func(is string, body []byte, next func() (*http.Response, error)) (*http.Response, error) {
		if is != op || !bytes.Contains(body, []byte(within)) {
			return next()
		}
		return refusal(&http.Request{}, http.StatusBadRequest, code), nil
	}
}

func table(answer map[string]any) map[string]any { return answer["Table"].(map[string]any) }

// mistake is one defect of a deployment and the finding that Examine must return for it.
type mistake struct {
	name  string
	do    func(*testing.T, *dynamo.Examination)
	check string
	want  string
}

func through(w detour) func(*testing.T, *dynamo.Examination) {
	return func(_ *testing.T, x *dynamo.Examination) { on(x, w) }
}

func withTemplate(fit dynamo.Examination, template string) func(*testing.T, *dynamo.Examination) {
	return func(t *testing.T, _ *dynamo.Examination) {
		s, err := dynamo.Open(t.Context(), fit.Options)
		if err != nil {
			t.Fatal(err)
		}
		it := store.Item{Key: dynamo.TemplateKey(), Attrs: map[string]varve.Value{dynamo.TemplateAttr: varve.StringValue(template)}}
		if err := s.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Delete(context.WithoutCancel(t.Context()), dynamo.TemplateKey()) })
	}
}

func mistakes(t *testing.T, fit dynamo.Examination) []mistake {
	return []mistake{
		{"a registry in creation", through(answered(t, "DescribeTable", func(a map[string]any) { table(a)["TableStatus"] = "CREATING" })), "registry", "CREATING"},
		{"an index is missing", through(answered(t, "DescribeTable", func(a map[string]any) {
			table(a)["GlobalSecondaryIndexes"] = table(a)["GlobalSecondaryIndexes"].([]any)[:1]
		})), "registry keys and indexes", "needs HASH gsi"},
		{"an index of keys only", through(answered(t, "DescribeTable", func(a map[string]any) {
			table(a)["GlobalSecondaryIndexes"].([]any)[1].(map[string]any)["Projection"] = map[string]any{"ProjectionType": "KEYS_ONLY"}
		})), "registry keys and indexes", "whole items"},
		{"TTL is off", through(answered(t, "DescribeTimeToLive", func(a map[string]any) { delete(a, "TimeToLiveDescription") })), "registry TTL", "off"},
		{"TTL of another attribute", through(answered(t, "DescribeTimeToLive", func(a map[string]any) {
			a["TimeToLiveDescription"].(map[string]any)["AttributeName"] = "expires"
		})), "registry TTL", "expires"},
		{"another owner", func(_ *testing.T, x *dynamo.Examination) { x.Owner = "me" }, "registry owner", "patient_registry"},
		{"no owner", through(answered(t, "ListTagsOfResource", func(a map[string]any) { a["Tags"] = []any{} })), "registry owner", "no tag"},
		{"a template with a typing error", withTemplate(fit, `{"biling":"on_demand"}`), "table template", "biling"},
		{"an incomplete template", withTemplate(fit, `{"billing":"provisioned"}`), "table template", "capacity.hot"},
		{"the clock is slow", func(_ *testing.T, x *dynamo.Examination) {
			x.Now = func() time.Time { return time.Now().Add(-10 * time.Minute) }
		}, "clock", "-10m"},
		{"no writing of readings", through(refused("UpdateItem", "patient_0", "AccessDeniedException")), "permission UpdateItem", "router"},
		{"no writing of rows", through(refused("PutItem", "patient_0", "AccessDeniedException")), "permission PutItem", "router"},
		{"no reading of readings", through(refused("Query", "patient_0", "AccessDeniedException")), "permission Query", "reader"},
		{"no records", through(refused("PutItem", patientRegistry, "AccessDeniedException")), "permission PutItem", "router"},
		{"no tuning", through(refused("UpdateTable", "patient_0", "AccessDeniedException")), "permission UpdateTable", "rotator"},
		{"no listing", through(refused("ListTables", "", "AccessDeniedException")), "number of tables", "AccessDenied"},
		{"too many tables", through(answered(t, "ListTables", func(a map[string]any) {
			names := []any{}
			for range 2100 {
				names = append(names, "other")
			}
			a["TableNames"] = names
		})), "number of tables", "2100"},
	}
}

// TestExamine_FindsEachMistakeAlone examines deployments with one mistake each. Examine must find
// only that mistake, and name a remedy.
func TestExamine_FindsEachMistakeAlone(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	fit := patient(t, url)
	for _, c := range mistakes(t, fit) {
		t.Run(c.name, func(t *testing.T) {
			x := fit
			c.do(t, &x)
			all := dynamo.Examine(t.Context(), x)
			wrong := checksIn(all, dynamo.Wrong)
			if !slices.Equal(wrong, []string{c.check}) {
				t.Fatalf("wrong: %q, want %s alone\n%+v", wrong, c.check, all)
			}
			for _, f := range all {
				if f.State == dynamo.Wrong && (!strings.Contains(f.Found, c.want) || f.Remedy == "") {
					t.Errorf("found %q with remedy %q, want %q and a remedy", f.Found, f.Remedy, c.want)
				}
			}
		})
	}
}

// TestExamine_ComparesCapacityWithLimits checks that a capacity in the template above the limits
// of the endpoint is found.
func TestExamine_ComparesCapacityWithLimits(t *testing.T) {
	x := patient(t, dynamotest.Dynoxide.Start(t))
	s, err := dynamo.Open(t.Context(), x.Options)
	if err != nil {
		t.Fatal(err)
	}
	it := store.Item{Key: dynamo.TemplateKey(), Attrs: map[string]varve.Value{dynamo.TemplateAttr: varve.StringValue(
		`{"classes":{"busy":{"billing":"provisioned","capacity":{"hot":{"read":5,"write":900},"warm":{"read":1,"write":1},"cold":{"read":1,"write":1}}}}}`)}}
	if err := s.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]dynamo.State{899: dynamo.Wrong, 900: dynamo.Good} {
		on(&x, func(op string, _ []byte, next func() (*http.Response, error)) (*http.Response, error) {
			resp, err := next()
			if op == "DescribeLimits" && err == nil {
				text := fmt.Sprintf(`{"TableMaxReadCapacityUnits":40000,"TableMaxWriteCapacityUnits":%d}`, most)
				resp.StatusCode, resp.Body, resp.ContentLength = http.StatusOK, io.NopCloser(strings.NewReader(text)), int64(len(text))
				resp.Header.Del("X-Amz-Crc32")
			}
			return resp, err
		})
		if all := dynamo.Examine(t.Context(), x); !slices.Contains(checksIn(all, want), "capacity") {
			t.Errorf("with %d write units, capacity is not %s: %+v", most, want, all)
		}
	}
}

// TestExamine_ReportsSilentEndpointOnce checks that an endpoint that does not answer gives
// exactly one finding.
func TestExamine_ReportsSilentEndpointOnce(t *testing.T) {
	client := dynamodb.New(dynamotest.Client("http://127.0.0.1:1").Options(), func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 1 })
	})
	all := dynamo.Examine(t.Context(), dynamo.Examination{Options: dynamo.Options{Client: client, Registry: patientRegistry}})
	if len(all) != 1 || all[0].State != dynamo.Wrong || !strings.Contains(all[0].Remedy, "check the endpoint") {
		t.Errorf("found %+v, want one finding with a remedy", all)
	}
}

// TestExamine_AcceptsNewAccount examines an AWS account before the first start of Varve. Nothing
// may be wrong, and the examination must not create the registry.
func TestExamine_AcceptsNewAccount(t *testing.T) {
	for _, e := range emulators {
		t.Run(e.Name, func(t *testing.T) {
			x := patient(t, e.Start(t))
			x.Registry, x.Owner = "nowhere", "nowhere"
			for range 2 {
				all := dynamo.Examine(t.Context(), x)
				if wrong := checksIn(all, dynamo.Wrong); len(wrong) > 0 || len(all) != 2 {
					t.Errorf("wrong: %v\n%+v", wrong, all)
				}
				if f := all[0]; f.Check != "registry" || f.State != dynamo.NotChecked || !strings.Contains(f.Found, "table nowhere is not created yet") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestLocation_NamesAccountAndRegion compares the location of a store with the ARN of its registry.
func TestLocation_NamesAccountAndRegion(t *testing.T) {
	for _, e := range emulators {
		t.Run(e.Name, func(t *testing.T) {
			x := patient(t, e.Start(t))
			s, err := dynamo.Open(t.Context(), dynamo.Options{Client: x.Client, Registry: patientRegistry})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			at, err := s.Location(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out, err := x.Client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(patientRegistry)})
			if err != nil {
				t.Fatal(err)
			}
			want := "arn:aws:dynamodb:" + at.Region + ":" + at.Account + ":table/" + patientRegistry
			if got := aws.ToString(out.Table.TableArn); got != want || at.Account == "" {
				t.Errorf("location %+v, ARN %s", at, got)
			}
		})
	}
}
