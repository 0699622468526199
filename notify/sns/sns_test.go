package sns_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/notify/sns"
)

// topic answers Publish requests as SNS does, and records their parameters.
type topic struct {
	status int
	code   string
	form   url.Values
	auth   string
}

func (p *topic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.form, p.auth = r.Form, r.Header.Get("Authorization")
	w.Header().Set("Content-Type", "text/xml")
	if p.status != 0 {
		w.WriteHeader(p.status)
		fmt.Fprintf(w, `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>%s</Code><Message>no</Message></Error></ErrorResponse>`, p.code)
		return
	}
	fmt.Fprint(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m1</MessageId></PublishResult></PublishResponse>`)
}

func publish(t *testing.T, p *topic, arn string, m *notify.Message) error {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	s := httptest.NewServer(p)
	defer s.Close()
	n, err := sns.New(t.Context(), sns.Options{Topic: arn, Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return n.Send(t.Context(), m)
}

// alert returns a message about an alert with characters that SNS rejects in a subject.
func alert() *notify.Message {
	return &notify.Message{ID: "msg_1", Type: notify.Opened, Time: time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC), Alert: &notify.AlertData{
		ID: "a", Tenant: "default", Device: "Fühler 1", Rule: "hot", Severity: "critical", State: "open", Message: strings.Repeat("v > 30 ", 20),
	}}
}

func TestNotifier_PublishesToTopic(t *testing.T) {
	p := &topic{}
	const arn = "arn:aws:sns:eu-central-1:123456789012:alerts"
	if err := publish(t, p, arn, alert()); err != nil {
		t.Fatal(err)
	}
	subject := p.form.Get("Subject")
	if p.form.Get("Action") != "Publish" || p.form.Get("TopicArn") != arn || !strings.Contains(p.form.Get("Message"), `"id":"msg_1","type":"alert.opened"`) ||
		p.form.Get("MessageGroupId") != "" || len(subject) > 99 || strings.ContainsRune(subject, 'ü') || !strings.HasPrefix(subject, "CRITICAL open: v > 30") {
		t.Errorf("%v", p.form)
	}
	if !strings.Contains(p.auth, "/eu-central-1/sns/") {
		t.Errorf("signed for %q", p.auth)
	}
}

func TestNotifier_OrdersFIFOTopicByDevice(t *testing.T) {
	p := &topic{}
	if err := publish(t, p, "arn:aws:sns:eu-central-1:123456789012:alerts.fifo", alert()); err != nil {
		t.Fatal(err)
	}
	if p.form.Get("MessageDeduplicationId") != "msg_1" || p.form.Get("MessageGroupId") != "default/F?hler_1" {
		t.Errorf("%v", p.form)
	}
}

// TestNotifier_SeparatesGroupsOfLongNames checks that devices whose long names end differently have
// groups of their own.
func TestNotifier_SeparatesGroupsOfLongNames(t *testing.T) {
	for _, n := range []int{100, 110, 120, 200} {
		groups := map[string]bool{}
		for _, end := range []string{"1", "2"} {
			p, m := &topic{}, alert()
			m.Alert.Device = strings.Repeat("d", n) + end
			if err := publish(t, p, "arn:aws:sns:eu-central-1:123456789012:alerts.fifo", m); err != nil {
				t.Fatal(err)
			}
			groups[p.form.Get("MessageGroupId")] = true
		}
		for group := range groups {
			if len(groups) != 2 || len(group) > 128 || !strings.HasPrefix(group, "default/dddd") {
				t.Errorf("names of %d characters: group %q of %d, want 2 of at most 128 characters", n+1, group, len(groups))
			}
		}
	}
}

func TestNotifier_ClassifiesErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   notify.Fault
	}{{403, "AuthorizationError", notify.Refused}, {404, "NotFound", notify.Refused}, {500, "InternalError", notify.Unreachable}, {429, "Throttled", notify.Unreachable},
		{400, "Throttling", notify.Unreachable}, {400, "ThrottlingException", notify.Unreachable}, {403, "ExpiredToken", notify.Unreachable}, {408, "RequestTimeout", notify.Unreachable}, {400, "InvalidParameter", notify.Refused}} {
		err := publish(t, &topic{status: c.status, code: c.code}, "arn:aws:sns:eu-central-1:123456789012:alerts", alert())
		var e *notify.SendError
		if !errors.As(err, &e) || e.Fault != c.want {
			t.Errorf("%d %s: %v, want fault %d", c.status, c.code, err, c.want)
		}
	}
}

func TestNew_RejectsMistakes(t *testing.T) {
	for _, arn := range []string{"", "alerts", "arn:aws:sqs:eu-central-1:123456789012:alerts", "arn:aws:sns::123456789012:alerts"} {
		if _, err := sns.New(t.Context(), sns.Options{Topic: arn}); err == nil {
			t.Errorf("%q is accepted", arn)
		}
	}
}
