package terraform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// emulator is DynamoDB as Terraform's provider and Varve need it: dynoxide, and
// what it lacks. It knows nothing of warm throughput, for which the provider
// waits, nor of continuous backups.
type emulator struct {
	backend *url.URL

	mu        sync.Mutex
	recovered map[string]bool // tables with point-in-time recovery
}

func newEmulator(t *testing.T) *emulator {
	t.Helper()
	u, err := url.Parse(dynamotest.Dynoxide.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	return &emulator{backend: u, recovered: map[string]bool{}}
}

// door is a way to an emulator, for one of its users.
type door struct {
	url      string
	emulator *emulator
	policies []policy // what its user may do; none: everything

	mu     sync.Mutex
	calls  map[string]int // by operation and table
	denied []string
}

// door opens a way to the emulator. With policies, what they do not allow is
// refused as AWS does.
func (e *emulator) door(t *testing.T, policies ...policy) *door {
	t.Helper()
	d := &door{emulator: e, policies: policies, calls: map[string]int{}}
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

// asked is what of a request matters here.
type asked struct {
	TableName                        string
	ResourceArn                      string
	IndexName                        string
	RequestItems                     map[string]json.RawMessage
	Key, Item                        map[string]struct{ S string }
	PointInTimeRecoverySpecification *struct{ PointInTimeRecoveryEnabled bool }
}

// tables are those that a request is about.
func (a *asked) tables() []string {
	switch {
	case a.RequestItems != nil:
		return slices.Sorted(maps.Keys(a.RequestItems))
	case a.ResourceArn != "":
		return []string{a.ResourceArn[strings.LastIndexByte(a.ResourceArn, '/')+1:]}
	case a.TableName != "":
		return []string{a.TableName}
	}
	return nil
}

// requests are what a request asks IAM for.
func (a *asked) requests(op string) (all []request) {
	context := map[string][]string{}
	for _, item := range []map[string]struct{ S string }{a.Key, a.Item} {
		if pk := item[dynamo.RegistryIndexes()[0].PK].S; pk != "" {
			context["dynamodb:LeadingKeys"] = []string{pk}
		}
	}
	for _, table := range a.tables() {
		resource := tableARN(table)
		if a.IndexName != "" {
			resource += "/index/" + a.IndexName
		}
		all = append(all, request{"dynamodb:" + op, resource, context})
	}
	if len(all) == 0 {
		all = []request{{"dynamodb:" + op, "*", context}}
	}
	return all
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	var in asked
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if why := d.note(op, &in); why != "" {
		refuse(w, "AccessDeniedException", why)
		return
	}
	if strings.HasSuffix(op, "ContinuousBackups") {
		d.emulator.recovery(w, &in)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(d.emulator.backend); p.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: warm,
	}
	proxy.ServeHTTP(w, r)
}

// note counts a call, and returns why it is refused, if so.
func (d *door) note(op string, in *asked) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, table := range in.tables() {
		d.calls[op+" "+table]++
	}
	for _, r := range in.requests(op) {
		if len(d.policies) == 0 {
			return ""
		}
		if is, err := allowed(d.policies, r); err != nil || !is {
			why := fmt.Sprintf("%s on %s %v %v", r.action, r.resource, r.context, err)
			d.denied = append(d.denied, why)
			return why
		}
	}
	return ""
}

// refusals returns what was refused.
func (d *door) refusals() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.denied)
}

func refuse(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#%s","message":%q}`, code, message)
}

// recovery answers what is asked of continuous backups.
func (e *emulator) recovery(w http.ResponseWriter, in *asked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := in.PointInTimeRecoverySpecification; s != nil {
		e.recovered[in.TableName] = s.PointInTimeRecoveryEnabled
	}
	status := "DISABLED"
	if e.recovered[in.TableName] {
		status = "ENABLED"
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	fmt.Fprintf(w, `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED",`+
		`"PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":%q,"RecoveryPeriodInDays":35}}}`, status)
}

func (e *emulator) hasRecovery(table string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.recovered[table]
}

// warm adds warm throughput to the descriptions of tables and indexes.
func warm(r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var answer map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&answer) == nil {
		for _, name := range []string{"Table", "TableDescription"} {
			if table, ok := answer[name].(map[string]any); ok {
				warmed(table)
				indexes, _ := table["GlobalSecondaryIndexes"].([]any)
				for _, ix := range indexes {
					warmed(ix.(map[string]any))
				}
			}
		}
		if body, err = json.Marshal(answer); err != nil {
			return err
		}
		r.Header.Del("X-Amz-Crc32")
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func warmed(described map[string]any) {
	if _, there := described["WarmThroughput"]; !there {
		described["WarmThroughput"] = map[string]any{"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}
	}
}
