package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rejects"
)

// swapped is a transport that a test can replace.
type swapped struct {
	mu sync.Mutex
	to http.RoundTripper
}

func (s *swapped) set(to http.RoundTripper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = to
}

func (s *swapped) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil {
		return nil, errors.New("the test allows no requests")
	}
	return s.to.RoundTrip(r)
}

// newAWSServer returns a server that stores rejects.
func newAWSServer(t *testing.T) *server {
	t.Helper()
	return newServer(t, func(o *engine.Options, _ *api.Limits) { o.Rejects = rejects.Options{Limit: 100, Retention: time.Hour} })
}

const (
	firehoseID  = "ed4acda5-034f-9f42-bba1-f29aea6d7d8f"
	firehoseARN = "arn:aws:firehose:us-east-1:123456789012:deliverystream/devices"
)

// firehoseBody returns the body of a request of Firehose as AWS documents it.
func firehoseBody(records ...string) string {
	var list []string
	for _, r := range records {
		list = append(list, fmt.Sprintf(`{"data": %q}`, base64.StdEncoding.EncodeToString([]byte(r))))
	}
	return fmt.Sprintf(`{"requestId": %q, "timestamp": %d, "records": [%s]}`, firehoseID, noon.UnixMilli(), strings.Join(list, ","))
}

// firehose sends a request with the headers that AWS documents.
func (s *server) firehose(path, body string, head ...string) (*reply, wire.FirehoseAnswer) {
	s.t.Helper()
	r := s.send(http.MethodPost, "/v1/aws/firehose"+path, body, append([]string{
		"Content-Type", "application/json", "X-Amz-Firehose-Protocol-Version", "1.0", "X-Amz-Firehose-Request-Id", firehoseID,
		"X-Amz-Firehose-Source-Arn", firehoseARN, "User-Agent", "Amazon Kinesis Data Firehose Agent/1.0",
	}, head...)...)
	a := decode[wire.FirehoseAnswer](r)
	if r.header.Get("Content-Type") != "application/json" || r.header.Get("Content-Encoding") != "" ||
		r.header.Get("Content-Length") != strconv.Itoa(len(r.body)) || a.RequestID != firehoseID || a.Timestamp == 0 {
		s.t.Errorf("the answer is not in the form of Firehose: %v %s", r.header, r.body)
	}
	return r, a
}

// reading returns a reading of device d1, ms milliseconds after 11:00.
func reading(ms int) string {
	return fmt.Sprintf(`{"device":"d1","time":%d,"fields":{"a":%d}}`, noon.Add(-time.Hour).UnixMilli()+int64(ms), ms)
}

// TestFirehose_StoresRequests sends requests as AWS documents them, twice each. Each reading must be
// stored once.
func TestFirehose_StoresRequests(t *testing.T) {
	zipped := new(bytes.Buffer)
	z := gzip.NewWriter(zipped)
	if _, err := z.Write([]byte(firehoseBody(reading(1) + "\n" + reading(2) + "\n"))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const attributes = "X-Amz-Firehose-Common-Attributes"
	large := firehoseBody(strings.Repeat(reading(1)+"\n", 60_000), strings.Repeat(reading(2)+"\n", 60_000), reading(3))
	for _, c := range []struct {
		name, path, body string
		head             []string
		stored           int
	}{
		{"records", "?stream=weather", firehoseBody(reading(1), reading(2)), nil, 2},
		{"joined records", "?stream=weather", firehoseBody(reading(1)+reading(2), "["+reading(3)+"]"), nil, 3},
		{"gzip", "?stream=weather", zipped.String(), []string{"Content-Encoding", "gzip"}, 2},
		{"attributes", "", firehoseBody(point(1)), []string{attributes, `{"commonAttributes":{"format":"line","team":"a"}}`}, 1},
		{"stream as attribute", "", firehoseBody(reading(1)), []string{attributes, `{"commonAttributes":{"stream":"weather"}}`}, 1},
		{"arrival", "?stream=weather&time=arrival&device=d1", firehoseBody(`{"fields":{"a":1}}`), nil, 1},
		{"parts", "?stream=weather&format=ndjson", large, nil, 3},
		{"none", "?stream=weather", firehoseBody(), nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAWSServer(t)
			for range 2 {
				if r, a := s.firehose(c.path, c.body, c.head...); r.status != 200 || a.Error != "" {
					t.Fatalf("%d %s", r.status, r.body)
				}
			}
			if s.stored() != c.stored {
				t.Errorf("%d readings are stored, want %d", s.stored(), c.stored)
			}
		})
	}
}

// TestFirehose_StoresManyEmptyRecordsInParts checks that records without data count toward a part, because
// each of them needs memory. So the first reading must be stored, although the body is cut off later.
func TestFirehose_StoresManyEmptyRecordsInParts(t *testing.T) {
	s := newAWSServer(t)
	body := firehoseBody(append([]string{reading(1)}, make([]string, 40_000)...)...)
	if r, _ := s.firehose("?stream=weather", body[:len(body)-2]); r.status != 400 || s.stored() != 1 {
		t.Errorf("%d %s, %d readings are stored, want 1", r.status, r.body, s.stored())
	}
}

// TestFirehose_RefusesLongNames checks that an ARN or an id of more than 512 bytes is refused.
func TestFirehose_RefusesLongNames(t *testing.T) {
	s := newAWSServer(t)
	long := strings.Repeat("x", 513)
	for _, tt := range []struct{ param, body, header, value string }{
		{"header.X-Amz-Firehose-Source-Arn", firehoseBody(reading(1)), "X-Amz-Firehose-Source-Arn", long},
		{"header.X-Amz-Firehose-Request-Id", firehoseBody(reading(1)), "X-Amz-Firehose-Request-Id", long},
		{"body.requestId", strings.Replace(firehoseBody(reading(1)), firehoseID, long, 1), "X-Amz-Firehose-Request-Id", ""},
	} {
		r := s.send("POST", "/v1/aws/firehose?stream=weather", tt.body, tt.header, tt.value)
		if want := tt.param + ": has 513 bytes: send at most 512"; r.status != 400 || decode[wire.FirehoseAnswer](r).Error != want {
			t.Errorf("%d %.300s, want %s", r.status, r.body, want)
		}
	}
	if s.stored() != 0 {
		t.Errorf("%d readings are stored, want none", s.stored())
	}
}

// TestFirehose_AcceptsRejectedReadings checks that permanently rejected records are stored as rejects
// and accepted. Otherwise Firehose would resend the request for hours.
func TestFirehose_AcceptsRejectedReadings(t *testing.T) {
	s := newAWSServer(t)
	body := strings.Replace(firehoseBody("nonsense", `{"device":"d1","time":1,"fields":{"a":1}}`, reading(1), "x"), base64.StdEncoding.EncodeToString([]byte("x")), "%%%", 1)
	if r, _ := s.firehose("?stream=weather", body); r.status != 200 || s.stored() != 1 {
		t.Fatalf("%d %s, %d readings are stored", r.status, r.body, s.stored())
	}
	list := decode[wire.RejectList](s.get("/v1/rejects"))
	found := map[string]string{}
	for _, r := range list.Rejects {
		found[r.Text] = r.Door + " " + r.From
	}
	for i, text := range []string{"nonsense", `{"device":"d1","time":1,"fields":{"a":1}}`, "", "%%%"} {
		if want := fmt.Sprintf("firehose %s %s %d", firehoseARN, firehoseID, i); text != "" && found[text] != want {
			t.Errorf("reject %q is from %q, want %q", text, found[text], want)
		}
	}
	if metrics := s.get("/metrics").body; !strings.Contains(metrics, `varve_door_readings_total{door="firehose",outcome="stored"} 1`) {
		t.Error("the metrics do not count the door")
	}
}

// TestFirehose_AnswersMistakes checks the status and the message of the answers to failed requests.
func TestFirehose_AnswersMistakes(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		status           int
		says             string
	}{
		{"no stream", "", firehoseBody(reading(1)), 400, "stream"},
		{"unknown parameter", "?stream=weather&color=red", firehoseBody(reading(1)), 400, "color: unknown parameter"},
		{"CSV", "?stream=weather&format=csv", firehoseBody(reading(1)), 400, "format"},
		{"not JSON", "?stream=weather", "nonsense", 400, "not a delivery"},
		{"cut off", "?stream=weather", firehoseBody(reading(1))[:120], 400, "not a delivery"},
		{"other id", "?stream=weather", strings.Replace(firehoseBody(reading(1)), firehoseID, "other", 1), 400, "requestId"},
		{"no data", "?stream=weather", strings.Replace(firehoseBody(reading(1)), `"data"`, `"dada"`, 1), 400, "no data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAWSServer(t)
			if r, a := s.firehose(c.path, c.body); r.status != c.status || !strings.Contains(a.Error, c.says) {
				t.Errorf("%d %s, want %d and %q", r.status, r.body, c.status, c.says)
			}
		})
	}
}

// TestFirehose_RefusesUnknownVersions checks that a request of an unknown version of the protocol is
// refused, and that one without a version is not.
func TestFirehose_RefusesUnknownVersions(t *testing.T) {
	s := newAWSServer(t)
	const name = "X-Amz-Firehose-Protocol-Version"
	for _, version := range []string{"2.0", "1", strings.Repeat("9", 9000)} {
		r, a := s.firehose("?stream=weather", firehoseBody(reading(1)), name, version)
		if want := "header." + name + ": unknown version"; r.status != 400 || !strings.HasPrefix(a.Error, want) || !strings.HasSuffix(a.Error, "use 1.0") {
			t.Errorf("version %.10s: %d %.300s, want 400 and %q", version, r.status, r.body, want)
		}
	}
	if s.stored() != 0 {
		t.Errorf("%d readings of an unknown version are stored", s.stored())
	}
	if r, _ := s.firehose("?stream=weather", firehoseBody(reading(1)), name, ""); r.status != 200 || s.stored() != 1 {
		t.Errorf("without a version: %d %s, %d readings", r.status, r.body, s.stored())
	}
}

// TestFirehose_AsksForRetries checks that a request is refused as a whole while the store fails. The
// readings of the retried request must be stored once.
func TestFirehose_AsksForRetries(t *testing.T) {
	s := newAWSServer(t)
	s.store.set(&s.store.write, func(grid.Table) error { return errDisk })
	if r, a := s.firehose("?stream=weather", firehoseBody(reading(1), "nonsense")); r.status != 503 || a.Error == "" {
		t.Errorf("%d %s, want 503", r.status, r.body)
	}
	s.store.set(&s.store.write, nil)
	if r, _ := s.firehose("?stream=weather", firehoseBody(reading(1), "nonsense")); r.status != 200 || s.stored() != 1 {
		t.Errorf("%d %s, %d readings", r.status, r.body, s.stored())
	}
}

func TestFirehose_TakesAccessKey(t *testing.T) {
	s := newAWSServer(t)
	key := decode[struct{ Key string }](s.send(http.MethodPost, "/v1/keys", `{"scopes":["admin","write"]}`, "Content-Type", "application/json")).Key
	if r, _ := s.firehose("?stream=weather", firehoseBody(reading(1)), "X-Amz-Firehose-Access-Key", key); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, wrong := range []string{"", "vk_wrong"} {
		if r, a := s.firehose("?stream=weather", firehoseBody(reading(1)), "X-Amz-Firehose-Access-Key", wrong); r.status != 401 || !strings.Contains(a.Error, "API key") {
			t.Errorf("key %q: %d %s", wrong, r.status, r.body)
		}
	}
}

const (
	iotARN = "arn:aws:iot:us-east-1:123456789012:ruledestination/http/7a280e37-b9c6-47a2-a751-0703693f46e4"
	iotURL = "https://iot.us-east-1.amazonaws.com/confirmdestination/AYADeMXLrPrNY2wqJAKsFNn-NBJndA"
)

// iotServer is a TLS server in place of AWS. It records the addresses of requests.
type iotServer struct {
	mu     sync.Mutex
	asked  []string
	status int
}

func (i *iotServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = append(i.asked, r.Method+" https://"+r.Host+r.URL.RequestURI())
	w.Header().Set("Location", "https://127.0.0.1:1/secret")
	w.WriteHeader(i.status)
}

func (i *iotServer) addresses() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// fakeAWS directs the server's requests to a TLS server that stands in for AWS.
func (s *server) fakeAWS(status int) *iotServer {
	s.t.Helper()
	i := &iotServer{status: status}
	srv := httptest.NewTLSServer(i)
	s.t.Cleanup(srv.Close)
	roots := srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	s.aws.set(&http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		},
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12},
	})
	return i
}

// confirm sends the request to confirm an HTTP destination, as AWS documents it.
func (s *server) confirm(arn, url string) *reply {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"arn": arn, "confirmationToken": "AYADeMXL", "enableUrl": url, "messageType": "DestinationConfirmation"})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.send(http.MethodPost, "/v1/aws/iot/?confirmationToken=AYADeMXL", string(body), "Content-Type", "application/json",
		"x-amz-rules-engine-message-type", "DestinationConfirmation", "x-amz-rules-engine-destination-arn", `"`+arn+`"`)
}

// TestIoT_ConfirmsDestination checks the request to AWS, and that no API key is needed.
func TestIoT_ConfirmsDestination(t *testing.T) {
	s := newAWSServer(t)
	s.send(http.MethodPost, "/v1/keys", `{"scopes":["admin"]}`, "Content-Type", "application/json")
	i := s.fakeAWS(http.StatusOK)
	if r := s.confirm(iotARN, iotURL); r.status != 200 || !strings.Contains(r.body, `"confirmed":true`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got := i.addresses(); len(got) != 1 || got[0] != "GET "+iotURL {
		t.Errorf("the server requested %q", got)
	}
}

// TestIoT_RequestsOnlyAWS checks that no request is sent to other hosts or for other accounts.
func TestIoT_RequestsOnlyAWS(t *testing.T) {
	s := newAWSServer(t)
	i := s.fakeAWS(http.StatusOK)
	with := func(old, by string) string { return strings.Replace(iotURL, old, by, 1) }
	for _, url := range []string{
		"", "nonsense", with("https", "http"), with("amazonaws.com", "amazonaws.com.evil.org"), with("amazonaws.com", "evil.org"), with("iot.", "evil.iot."),
		with("iot.us-east-1.amazonaws.com", "169.254.169.254"), with("iot.us-east-1.amazonaws.com", "localhost"), with("//", "//user:x@"), with(".com/", ".com:8443/"),
		with("us-east-1", "eu-west-1"), with("us-east-1", "x/us-east-1"), with("us-east-1", ""), with("us-east-1", "s3.us-east-1"), with("confirmdestination", "things"),
		with("confirmdestination/", "confirmdestination/../"), with("confirmdestination/", "confirmdestination/%2e%2e/"), with("confirmdestination/", "confirmdestination/a/b/"),
		iotURL + "?a=b", iotURL + "?", iotURL + "#a", with("amazonaws.com", "amazonaws.com."), with("amazonaws.com", "amazonaws.com@evil.org"), with("amazonaws.com", "amazonaws.com\\@evil.org"),
	} {
		if r := s.confirm(iotARN, url); r.status != http.StatusForbidden || !strings.Contains(r.body, "body.enableUrl") {
			t.Errorf("%q: %d %s", url, r.status, r.body)
		}
	}
	for arn, status := range map[string]int{
		strings.Replace(iotARN, "123456789012", "210987654321", 1): 403, strings.Replace(iotARN, ":iot:", ":sns:", 1): 400, "": 400,
		iotARN + "/x": 400, strings.Replace(iotARN, "http/", "vpc/", 1): 400,
	} {
		if r := s.confirm(arn, iotURL); r.status != status || !strings.Contains(r.body, "body.arn") {
			t.Errorf("%q: %d %s, want %d", arn, r.status, r.body, status)
		}
	}
	if got := i.addresses(); len(got) > 0 {
		t.Errorf("the server requested %q", got)
	}
}

// TestIoT_FollowsNoRedirect checks that an answer of AWS other than 200 is a failure, and that no
// redirect is followed.
func TestIoT_FollowsNoRedirect(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusForbidden, http.StatusBadGateway} {
		s := newAWSServer(t)
		i := s.fakeAWS(status)
		if r := s.confirm(iotARN, iotURL); r.status != 503 || !strings.Contains(r.body, strconv.Itoa(status)) {
			t.Errorf("%d: %d %s", status, r.status, r.body)
		}
		if got := i.addresses(); len(got) != 1 {
			t.Errorf("%d: the server requested %q", status, got)
		}
	}
}

func TestIoT_LimitsConfirmations(t *testing.T) {
	s := newAWSServer(t)
	i := s.fakeAWS(http.StatusOK)
	refused := 0
	for range 20 {
		if s.confirm(iotARN, iotURL).status == http.StatusTooManyRequests {
			refused++
		}
	}
	if got := len(i.addresses()); got > 11 || refused != 20-got {
		t.Errorf("%d requests, %d refused", got, refused)
	}
}

// TestIoT_StoresMessages sends a message and a batch of messages, as a rule of AWS IoT does. One message
// is invalid, and must be stored as a reject.
func TestIoT_StoresMessages(t *testing.T) {
	s := newAWSServer(t)
	const arn = "x-amz-rules-engine-destination-arn"
	if r := s.send(http.MethodPost, "/v1/aws/iot/weather", reading(1), "Content-Type", "application/json", arn, iotARN); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	r := s.send(http.MethodPost, "/v1/aws/iot/weather", "["+reading(1)+","+reading(2)+`,{"device":"d1"}]`, "Content-Type", "application/json", arn, iotARN)
	if r.status != 200 || strings.TrimSpace(r.body) != `{"stored":1,"duplicates":1,"rejected":1}` || s.stored() != 2 {
		t.Errorf("%d %s, %d readings", r.status, r.body, s.stored())
	}
	if list := decode[wire.RejectList](s.get("/v1/rejects")); len(list.Rejects) != 1 || list.Rejects[0].Door != "iot" || list.Rejects[0].From != iotARN {
		t.Errorf("the rejects are %+v", list.Rejects)
	}
	s.store.set(&s.store.write, func(grid.Table) error { return errDisk })
	if r := s.send(http.MethodPost, "/v1/aws/iot/weather", reading(3), "Content-Type", "application/json"); r.status != 503 {
		t.Errorf("%d %s, want 503", r.status, r.body)
	}
}
