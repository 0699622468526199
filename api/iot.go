package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/ingest/records"
)

// iotPath is the path at which AWS IoT Core confirms the HTTP destinations of its rules. IoT Core adds a
// slash to this path. The path of the URL of each rule must begin with iotPath.
const iotPath = "/v1/aws/iot"

// isConfirmation reports whether IoT Core sends confirmations of HTTP destinations to a path. These
// requests have no API key.
func isConfirmation(path string) bool { return path == iotPath || path == iotPath+"/" }

const (
	maxConfirmation    = 64 << 10
	confirmationWithin = 10 * time.Second
	// confirmationsPerMinute limits the requests to AWS, because confirmations need no API key.
	confirmationsPerMinute = 10
)

// iotHandler serves messages of rules of AWS IoT Core, and confirms the destinations of rules.
type iotHandler struct {
	*responder
	receiver  *records.Receiver
	limits    Limits
	accounts  []string
	client    *http.Client
	rate      *rate.Limiter
	confirmed func(arn, enableURL string, err error)
}

func newIoT(a *responder, receiver *records.Receiver, o *Options) *iotHandler {
	h := &iotHandler{
		responder: a, receiver: receiver, limits: o.Limits, accounts: o.AWS.IoTAccounts, confirmed: o.Events.Confirmed,
		rate: rate.NewLimiter(rate.Every(time.Minute/confirmationsPerMinute), confirmationsPerMinute),
	}
	client := http.Client{}
	if o.AWS.Client != nil {
		client = *o.AWS.Client
	}
	client.Timeout = confirmationWithin
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	h.client = &client
	return h
}

func (h *iotHandler) addRoutes(o *operations) {
	if len(h.accounts) == 0 {
		return
	}
	o.raw(http.MethodPost, iotPath, serveJSON(h.responder, h.confirm), &huma.Operation{
		OperationID: "confirm-iot-destination", Summary: "Confirm a destination of AWS IoT Core", Tags: []string{"AWS"},
		Description: "The confirmation URL of an HTTP destination. The server requests the address in the body, " +
			"if its host belongs to AWS IoT Core, and if the account of the destination is listed in aws.iot.accounts.",
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: o.schema(reflect.TypeFor[wire.IoTConfirmation]())}}},
		Responses:   o.responses(reflect.TypeFor[wire.IoTConfirmed](), "200"),
	})
	o.mux.HandleFunc("POST "+iotPath+"/{$}", serveJSON(h.responder, h.confirm))
	o.raw(http.MethodPost, iotPath+"/{stream}", h.postMessages, &huma.Operation{
		OperationID: "write-iot", Summary: "Write messages of a rule of AWS IoT Core", Tags: []string{"AWS"},
		Description: "A reading, or an array of readings if the rule sends batches. Rejected readings are stored as rejects, because no device reads the answer. " +
			"200 if each reading is durable, or is stored as a reject. IoT Core retries after an error of the server. " +
			"Each reading needs a time, and time=arrival is refused: a retry would be stored once more.",
		Parameters: append([]*huma.Param{pathParam("stream", "the stream")}, queryParams("format", "json, ndjson or line; default json",
			"precision", "unit of numeric times: s, ms, us or ns; default ms, in line protocol ns",
			"timezone", "of times without a zone, as in Europe/Berlin; default UTC",
			"dst", "local times that occur twice or never: earlier or later; by default they are rejected",
			"device", "of readings that name none",
			"fields", "JSON: flat: all members but device, time, id and stream are fields, and objects are JSON values, also one named fields; default nested")...),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: o.schema(reflect.TypeFor[wire.SubmittedReading]())}}},
		Responses:   o.responses(reflect.TypeFor[wire.IoTAnswer](), "200"),
	})
}

func (h *iotHandler) postMessages(w http.ResponseWriter, r *http.Request) {
	serveJSON(h.responder, func(r *http.Request) (wire.IoTAnswer, error) { return h.write(r) })(w, r)
}

func (h *iotHandler) write(r *http.Request) (a wire.IoTAnswer, err error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a, varve.InvalidParam("query", "%s: check the address of the rule", err)
	}
	q.Set("stream", r.PathValue("stream"))
	target, err := records.ParseTarget(tenantOf(r.Context()), q)
	var e *varve.Error
	if errors.As(err, &e) {
		prefix := "query."
		if e.Param == "stream" {
			prefix = "path."
		}
		err = varve.InvalidParam(prefix+e.Param, "%s", e.Message)
	}
	if err == nil && target.ArrivalIsTime {
		err = varve.InvalidParam("query.time", "arrival stores retried messages twice: write timestamp() AS time in the rule")
	}
	if err != nil {
		return a, err
	}
	body, err := writes.OpenBody(r, h.limits.Body)
	if err != nil {
		return a, err
	}
	defer func() { _ = body.Close() }() // stored readings are unaffected by an error here
	text, err := io.ReadAll(io.LimitReader(body, maxIoT+1))
	if err != nil {
		return a, err
	}
	if len(text) > maxIoT {
		return a, &http.MaxBytesError{Limit: maxIoT}
	}
	from := r.Header.Get("X-Amz-Rules-Engine-Destination-Arn")
	if from == "" {
		from = grantOf(r.Context()).ID
	}
	tally, err := h.receiver.Store(r.Context(), grantOf(r.Context()), target, []records.Record{{Data: text, From: from}})
	return wire.IoTAnswer{Stored: tally.Stored, Duplicates: tally.Duplicates, Rejected: tally.Rejected}, err
}

// maxIoT is the maximum size of the messages of a request. IoT Core sends at most 128 KiB.
const maxIoT = 1 << 20

// confirm serves a request of IoT Core to confirm an HTTP destination.
func (h *iotHandler) confirm(r *http.Request) (a wire.IoTConfirmed, err error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxConfirmation))
	if err != nil {
		return a, err
	}
	var c wire.IoTConfirmation
	if err := json.Unmarshal(text, &c); err != nil || c.MessageType != "DestinationConfirmation" {
		return a, varve.InvalidParam("body", "not a confirmation of AWS IoT Core: POST messages to %s/STREAM", iotPath)
	}
	if said := strings.Trim(r.Header.Get("X-Amz-Rules-Engine-Destination-Arn"), `"`); said != "" && said != c.ARN {
		return a, varve.InvalidParam("body.arn", "not the destination in the header: send the same one")
	}
	if err := h.checkConfirmation(&c); err != nil {
		h.confirmed(c.ARN, "", err)
		return a, err
	}
	if !h.rate.Allow() {
		return a, varve.Errorf(varve.Busy, "too many confirmations: retry in a minute")
	}
	err = h.enable(r.Context(), c.EnableURL)
	h.confirmed(c.ARN, c.EnableURL, err)
	return wire.IoTConfirmed{ARN: c.ARN, Confirmed: true}, err
}

var (
	destinationARN = regexp.MustCompile(`^arn:aws(?:-[a-z-]+)?:iot:([a-z0-9-]+):([0-9]{12}):ruledestination/http/[A-Za-z0-9-]+$`)
	confirmHost    = regexp.MustCompile(`^iot\.([a-z]{2,4}(?:-[a-z]+)+-[0-9]{1,2})\.amazonaws\.com(?:\.cn)?$`)
	confirmPath    = regexp.MustCompile(`^/confirmdestination/[A-Za-z0-9_=%+-]+$`)
)

// checkConfirmation refuses accounts that are not listed, and addresses that do not belong to AWS
// IoT Core. Otherwise anyone could make the server send requests to any host.
func (h *iotHandler) checkConfirmation(c *wire.IoTConfirmation) error {
	arn := destinationARN.FindStringSubmatch(c.ARN)
	if arn == nil {
		return varve.InvalidParam("body.arn", "not a destination of a rule: use an HTTP destination of AWS IoT Core")
	}
	if !slices.Contains(h.accounts, arn[2]) {
		return &varve.Error{Failure: varve.Forbidden, Param: "body.arn", Message: "account " + arn[2] + " is not accepted: add it to aws.iot.accounts"}
	}
	u, err := url.Parse(c.EnableURL)
	refused := &varve.Error{Failure: varve.Forbidden, Param: "body.enableUrl", Message: "not an address of AWS IoT Core in the region of the destination: confirm it by hand"}
	if err != nil || u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || !confirmPath.MatchString(u.EscapedPath()) {
		return refused
	}
	if host := confirmHost.FindStringSubmatch(u.Host); host == nil || host[1] != arn[1] {
		return refused
	}
	return nil
}

// enable confirms a destination by a GET request to the address that IoT Core sent.
func (h *iotHandler) enable(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := h.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // u also has the address, which contains the secret token
		}
		return varve.Errorf(varve.Unavailable, "AWS IoT Core cannot be reached: %s: confirm the destination by hand", err)
	}
	defer func() { _ = resp.Body.Close() }() // only the status matters
	if resp.StatusCode != http.StatusOK {
		return varve.Errorf(varve.Unavailable, "AWS IoT Core answered with %s: confirm the destination by hand", fmt.Sprint(resp.StatusCode))
	}
	return nil
}
