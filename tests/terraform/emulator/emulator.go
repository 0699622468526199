// Package emulator extends a DynamoDB emulator for Terraform's AWS provider.
//
// It adds continuous backups, and warm throughput, for which the provider waits. An [Endpoint] gives one
// user access to an [Emulator]. It can refuse calls, and records the operations that the user requests.
// Both types are safe for concurrent use.
package emulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Emulator is a DynamoDB emulator with continuous backups and warm throughput.
type Emulator struct {
	backend *url.URL

	mu        sync.Mutex
	recovered map[string]bool // tables that have point-in-time recovery
}

// New returns an Emulator that extends the emulator at the given address.
func New(address string) (*Emulator, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the emulator's address: %w", err)
	}
	return &Emulator{backend: u, recovered: map[string]bool{}}, nil
}

// HasRecovery reports whether a table has point-in-time recovery.
func (e *Emulator) HasRecovery(table string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.recovered[table]
}

// Call has the parts of a request on which IAM policies depend.
type Call struct {
	Operation string
	Table     string // "" if the request has no table
	Index     string
	Keys      []string // partition keys in Key and Item of the request, without the keys of batches
}

// Endpoint is an HTTP handler through which one user accesses an emulator. It can refuse
// calls, and records the operations that the user requests.
type Endpoint struct {
	emulator *Emulator
	refuse   func(Call) string

	mu      sync.Mutex
	calls   map[string]bool // requested operations
	refused []string        // reasons of the refused calls
}

// Endpoint returns a new endpoint of the emulator. The function "refuse" returns the reason to
// refuse a call, or "" to allow it. If the function is nil, the endpoint allows all calls.
func (e *Emulator) Endpoint(refuse func(Call) string) *Endpoint {
	if refuse == nil {
		refuse = func(Call) string { return "" }
	}
	return &Endpoint{emulator: e, refuse: refuse, calls: map[string]bool{}}
}

// Called reports whether the user has requested an operation.
func (d *Endpoint) Called(operation string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[operation]
}

// Refused returns the reasons of all refused calls.
func (d *Endpoint) Refused() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.refused)
}

// asked has the parts of a request that Endpoint and Emulator use.
type asked struct {
	TableName                        string
	ResourceArn                      string
	IndexName                        string
	RequestItems                     map[string]json.RawMessage
	Key, Item                        map[string]struct{ S string }
	PointInTimeRecoverySpecification *struct{ PointInTimeRecoveryEnabled bool }
}

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

// calls returns a Call for each table in a request. If the request has no table, it returns one
// Call without a table.
func (a *asked) calls(operation string) (all []Call) {
	c := Call{Operation: operation, Index: a.IndexName}
	for _, item := range []map[string]struct{ S string }{a.Key, a.Item} {
		if pk := item["pk"].S; pk != "" {
			c.Keys = append(c.Keys, pk)
		}
	}
	for _, c.Table = range a.tables() {
		all = append(all, c)
	}
	if len(all) == 0 {
		all = []Call{c}
	}
	return all
}

// ServeHTTP implements http.Handler.
func (d *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	if why := d.record(op, &in); why != "" {
		deny(w, "AccessDeniedException", why)
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

// record records the operation of a request. If the endpoint must refuse the request, record also records
// the reason and returns it. Otherwise, it returns "".
func (d *Endpoint) record(operation string, in *asked) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[operation] = true
	for _, c := range in.calls(operation) {
		if why := d.refuse(c); why != "" {
			d.refused = append(d.refused, why)
			return why
		}
	}
	return ""
}

func deny(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#%s","message":%q}`, code, message)
}

// recovery answers a request about continuous backups.
func (e *Emulator) recovery(w http.ResponseWriter, in *asked) {
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

// warm adds warm throughput to the descriptions of a table and its indexes in an answer.
func warm(r *http.Response) error {
	r.Header.Del("X-Amz-Crc32") // the checksum does not match the changed body
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
