package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	alertsPath = "/api/v2/alerts"
	// resendEvery is the time between two messages about an open alert. Alertmanager resolves an
	// alert at its end, which is fireFor after the last message.
	resendEvery = time.Minute
	fireFor     = 5 * time.Minute
	// resendResolved is the time for which resolutions are resent, in case Alertmanager restarts.
	resendResolved = 15 * time.Minute
	// leastFiring is the minimum time for which an alert fires. By default, Alertmanager waits half
	// a minute before it sends a notification about a group of alerts. It drops alerts that end
	// earlier.
	leastFiring = time.Minute
)

// Alertmanager is a notifier that sends alerts to a Prometheus Alertmanager, with its API v2.
//
// The receiver drops alerts whose end has passed. So the end of an open alert is in the future. The
// end of a resolved alert is at least leastFiring after its opening was sent, or fireFor if the
// alert was late. Annotations have the true times of the alert's beginning and end.
type Alertmanager struct {
	url    string
	token  string
	now    func() time.Time
	client *http.Client

	mu       sync.Mutex
	fired    map[string]*firing // the firing of each alert, by the id of the alert
	forgetAt int                // number of firings from which on forgetEnded scans them
}

// firing is an alert whose opening this process has sent. After a restart, no firings are known, so
// a resolution ends its alert immediately.
type firing struct {
	since time.Time // when the last opening was first sent
	ended time.Time // when the resolution was last sent; zero if it was not sent
}

// mostFired is the number of firings from which on ended firings are removed from memory.
const mostFired = 1000

// NewAlertmanager returns a notifier for the Alertmanager at a URL, such as http://localhost:9093.
// If the token is not empty, it is sent as a bearer token.
func NewAlertmanager(address, token string, now func() time.Time) (*Alertmanager, error) {
	if err := CheckURL(address); err != nil {
		return nil, err
	}
	address = strings.TrimSuffix(strings.TrimSuffix(address, "/"), alertsPath)
	return &Alertmanager{url: address + alertsPath, token: token, now: now, client: newClient(), fired: map[string]*firing{}, forgetAt: mostFired}, nil
}

type postable struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
	Generator   string            `json:"generatorURL,omitempty"`
}

// Send implements Notifier.
func (a *Alertmanager) Send(ctx context.Context, m *Message) error {
	return a.post(ctx, []*Message{m})
}

// Refresh implements Refresher.
func (a *Alertmanager) Refresh(ctx context.Context, delivered []*Message) error {
	return a.post(ctx, delivered)
}

// RefreshEvery implements Refresher.
func (a *Alertmanager) RefreshEvery() time.Duration { return resendEvery }

// RefreshResolved implements Refresher.
func (a *Alertmanager) RefreshResolved() time.Duration { return resendResolved }

func (a *Alertmanager) post(ctx context.Context, list []*Message) error {
	alerts := make([]postable, len(list))
	for i, m := range list {
		alerts[i] = a.alert(m)
	}
	body, err := json.Marshal(alerts)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	return post(a.client, req, a.now)
}

// alert returns a message as an alert of Alertmanager.
func (a *Alertmanager) alert(m *Message) postable {
	now := a.now().UTC()
	p := postable{Annotations: map[string]string{"summary": m.Headline()}, StartsAt: now, EndsAt: now.Add(fireFor)}
	switch {
	case m.Alert != nil:
		a.describe(&p, m, now)
	case m.Digest != nil:
		d := m.Digest
		p.Labels = labels("alertname", d.Rule, "severity", d.Severity, "tenant", d.Tenant, "digest", m.ID)
		p.Annotations["command"], p.Generator = d.Command, d.URL
		p.Annotations["from"], p.Annotations["to"] = d.From.Format(time.RFC3339Nano), d.To.Format(time.RFC3339Nano)
	default:
		p.Labels = labels("alertname", "VarveTest", "severity", "info", "message", m.ID)
	}
	return p
}

// describe sets the labels, the annotations and the end of one alert.
func (a *Alertmanager) describe(p *postable, m *Message, now time.Time) {
	d := m.Alert
	p.Labels = labels("alertname", d.Rule, "severity", d.Severity, "tenant", d.Tenant, "device", d.Device, "stream", d.Stream, "alert", d.ID)
	p.Annotations["condition"], p.Annotations["command"], p.Generator = d.Message, d.Command, d.URL
	p.Annotations["since"], p.Annotations["known_since"] = d.Since.Format(time.RFC3339Nano), d.KnownSince.Format(time.RFC3339Nano)
	if len(d.Value) > 0 {
		p.Annotations["value"] = string(d.Value)
	}
	least := leastFiring
	if d.Late {
		p.Annotations["late"], least = "true", fireFor
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.Type == Opened {
		if f := a.fired[d.ID]; f == nil || !f.ended.IsZero() { // the alert may open once more
			a.forgetEnded(now)
			a.fired[d.ID] = &firing{since: now}
		}
		p.StartsAt = earlier(d.OpenedAt, now)
		return
	}
	p.Annotations["resolved_at"], p.Annotations["resolved_by"] = d.ResolvedAt.Format(time.RFC3339Nano), d.ResolvedBy
	end := now
	if f := a.fired[d.ID]; f != nil {
		f.ended = now
		if until := f.since.Add(least); until.After(now) {
			end = until
		}
	}
	p.StartsAt, p.EndsAt = earlier(d.OpenedAt, end), end
}

// forgetEnded removes alerts whose resolution is not resent any more, if a.fired has at least
// forgetAt entries. The next scan follows once the rest has doubled, so that many open alerts are not
// scanned at each opening. The caller holds the lock.
func (a *Alertmanager) forgetEnded(now time.Time) {
	if len(a.fired) < a.forgetAt {
		return
	}
	for id, f := range a.fired {
		if !f.ended.IsZero() && now.Sub(f.ended) > resendResolved {
			delete(a.fired, id)
		}
	}
	a.forgetAt = max(mostFired, 2*len(a.fired))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// labels returns labels from pairs of names and values. It omits empty values, which Alertmanager
// rejects.
func labels(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all[pairs[i]] = pairs[i+1]
		}
	}
	return all
}
