package doors

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/varvedb/varve/tests/varvetest"
)

// topic is a topic of the emulator of SNS. Its messages go to a queue of SQS.
type topic struct {
	t      *testing.T
	config aws.Config
	queues *sqs.Client
	queue  string // URL of that queue
	// received has the messages in the order of the queue. Further messages with the same id are dropped.
	received []snsMessage
}

// snsMessage is a message of the notifier, with its attributes.
type snsMessage struct {
	ID, Type   string
	Data       struct{ Device, State string }
	subject    string
	attributes map[string]string
	group      string
}

func arn(name string) string { return "arn:aws:sns:us-east-1:000000000000:" + name }

// newTopic creates a topic and a queue that subscribes to it. A name that ends in .fifo makes both
// FIFO.
func newTopic(t *testing.T, config aws.Config, name string) *topic {
	t.Helper()
	p := &topic{t: t, config: config, queues: sqs.NewFromConfig(config)}
	attributes := map[string]string{}
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	queue, err := p.queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	p.queue = aws.ToString(queue.QueueUrl)
	if attributes["FifoQueue"] != "" {
		attributes = map[string]string{"FifoTopic": "true"}
	}
	topics := sns.NewFromConfig(config)
	created, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: &name, Attributes: attributes})
	if err != nil || aws.ToString(created.TopicArn) != arn(name) {
		t.Fatalf("%+v %v, want %s", created, err, arn(name))
	}
	subscribe := &sns.SubscribeInput{TopicArn: created.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String("arn:aws:sqs:us-east-1:000000000000:" + name)}
	if _, err := topics.Subscribe(t.Context(), subscribe); err != nil {
		t.Fatal(err)
	}
	return p
}

// receive reads the queue until exactly n messages with different ids have arrived since the start.
func (p *topic) receive(n int) []snsMessage {
	p.t.Helper()
	all := func() bool {
		out, err := p.queues.ReceiveMessage(p.t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &p.queue, MaxNumberOfMessages: 10, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		for i := range out.Messages {
			p.add(&out.Messages[i])
		}
		return len(p.received) >= n
	}
	if !varvetest.Eventually(all) || len(p.received) != n {
		p.t.Fatalf("the queue has the messages %+v, want %d", p.received, n)
	}
	return p.received
}

// add adds a message of the queue to the field "received", and deletes the message in the queue.
func (p *topic) add(m *types.Message) {
	p.t.Helper()
	var envelope struct {
		Subject, Message  string
		MessageAttributes map[string]struct{ Value string }
	}
	var one snsMessage
	if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &envelope); err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(envelope.Message), &one); err != nil {
		p.t.Fatal(err)
	}
	one.subject, one.attributes, one.group = envelope.Subject, map[string]string{}, m.Attributes["MessageGroupId"]
	for name, a := range envelope.MessageAttributes {
		one.attributes[name] = a.Value
	}
	if _, err := p.queues.DeleteMessage(p.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &p.queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
		p.t.Fatal(err)
	}
	if !slices.ContainsFunc(p.received, func(other snsMessage) bool { return other.ID == one.ID }) {
		p.received = append(p.received, one)
	}
}

// startNotifying starts a server whose notifier publishes to a topic, with the rule v > 30.
func startNotifying(t *testing.T, endpoint, name string) *restarted {
	t.Helper()
	r := &restarted{t: t, dir: t.TempDir(), environ: []string{"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret"}, args: []string{
		"--set", "notifiers.team.kind=sns", "--set", "notifiers.team.topic=" + arn(name), "--set", "notifiers.team.url=" + endpoint,
	}}
	r.begin()
	rule := `{"id":"hot","stream":"weather","field":"v","comparison":">","threshold":30,"gap":"none","severity":"critical"}`
	if status, text := r.call(t, http.MethodPost, "/v1/alert-rules", rule); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	return r
}

// measure writes a reading of device d1 with the value v.
func (r *restarted) measure(at time.Time, v int) {
	r.t.Helper()
	body := fmt.Sprintf(`{"device":"d1","time":%q,"fields":{"v":%d}}`, at.Format(time.RFC3339), v)
	if status, text := r.call(r.t, http.MethodPost, "/v1/streams/weather/readings", body); status != http.StatusOK {
		r.t.Fatalf("%d %s", status, text)
	}
}

// TestSNS_DeliversAlertsToQueue checks that a queue receives the messages about opened and resolved
// alerts in order. The server is killed right after each reading.
func TestSNS_DeliversAlertsToQueue(t *testing.T) {
	t.Parallel()
	endpoint, config := startEmulator(t, "sqs")
	for name, group := range map[string]string{"alerts": "", "alerts.fifo": "default/d1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTopic(t, config, name)
			r := startNotifying(t, endpoint, name)
			now := time.Now().UTC().Truncate(time.Second).Add(-time.Minute)
			for n := range 3 {
				r.measure(now.Add(time.Duration(2*n)*time.Second), 35)
				r.restart()
				p.receive(2*n + 1)
				r.measure(now.Add(time.Duration(2*n+1)*time.Second), 20)
				r.restart()
				p.receive(2*n + 2)
			}
			for i, m := range p.received {
				word, state := "alert.opened", "open"
				if i%2 == 1 {
					word, state = "alert.resolved", "resolved"
				}
				if m.Type != word || m.Data.State != state || m.Data.Device != "d1" || m.group != group || !strings.HasPrefix(m.subject, "CRITICAL "+state+": v > 30") {
					t.Errorf("message %d is %+v, want %s in group %q", i, m, word, group)
				}
				if want := map[string]string{"id": m.ID, "type": word, "severity": "critical"}; !maps.Equal(m.attributes, want) {
					t.Errorf("message %d has attributes %v, want %v", i, m.attributes, want)
				}
			}
		})
	}
}

// TestSNS_RetriesMissingTopic checks that a message is delivered if its topic is created later, and
// that the delivery names the problem until then.
func TestSNS_RetriesMissingTopic(t *testing.T) {
	t.Parallel()
	endpoint, config := startEmulator(t, "sqs")
	r := startNotifying(t, endpoint, "later")
	r.measure(time.Now().UTC(), 35)
	failing := func() bool {
		_, text := r.call(t, http.MethodGet, "/v1/alerts/deliveries?state=pending", "")
		return strings.Contains(string(text), "NotFound")
	}
	if !varvetest.Eventually(failing) {
		t.Fatalf("no delivery names the missing topic\n%s", r.Output())
	}
	p := newTopic(t, config, "later")
	if got := p.receive(1)[0].Type; got != "alert.opened" {
		t.Errorf("the message is %s, want alert.opened", got)
	}
}
