package doors

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/tests/varvetest"
)

// startEmulator starts an emulator of a service of AWS, and returns its address and configuration.
func startEmulator(t *testing.T, service string) (string, aws.Config) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		cache = dir
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "node", filepath.Join("testdata", "aws", "emulator.mjs"), filepath.Join(cache, "varve", "doors", "aws", "node_modules"), service)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Give the emulator an open pipe as its input. Without it, the emulator would end as soon as it
	// starts.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // fails, because the process was killed
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v: ./tools.sh installs it", service, err)
	}
	endpoint := "http://127.0.0.1:" + strings.TrimSpace(port)
	loaded, err := consumer.Connection{Endpoint: endpoint}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return endpoint, loaded
}

var startOfReadings = time.Now().Add(-time.Hour).Truncate(time.Second)

// object returns a reading of device d1, n milliseconds after startOfReadings.
func object(n int) string {
	return fmt.Sprintf(`{"device":"d1","time":%d,"fields":{"n":%d}}`, startOfReadings.UnixMilli()+int64(n), n)
}

// restarted is a server that a test kills and restarts in its folder.
type restarted struct {
	*server
	t    *testing.T
	dir  string
	args []string
	// environ has variables in addition to the environment of the test.
	environ []string
}

func startRestarted(t *testing.T, args ...string) *restarted {
	t.Helper()
	r := &restarted{t: t, dir: t.TempDir(), args: args}
	r.begin()
	return r
}

// begin starts the server, and stops it at the end of the test.
func (r *restarted) begin() {
	r.t.Helper()
	r.start()
	r.t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			r.t.Errorf("%v\n%s", err, r.Output())
		}
	})
}

func (r *restarted) start() {
	r.t.Helper()
	v, err := varvetest.StartAt(context.WithoutCancel(r.t.Context()), binary, r.dir, varvetest.Reach{Environ: r.environ}, r.args...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.server = &server{Server: v}
}

func (r *restarted) restart() {
	r.t.Helper()
	if err := r.Kill(); err != nil {
		r.t.Fatal(err)
	}
	r.start()
}

func (r *restarted) waitStored(n int) {
	r.t.Helper()
	if !varvetest.Eventually(func() bool { return r.stored(r.t, "weather") >= n }) {
		r.t.Fatalf("%d readings are stored, want %d\n%s", r.stored(r.t, "weather"), n, r.Output())
	}
}

// rejects returns the door and the sender of each reject, by the text of the reject.
func (r *restarted) rejects() map[string]string {
	r.t.Helper()
	status, text := r.call(r.t, http.MethodGet, "/v1/rejects?limit=1000", "")
	var list struct {
		Rejects []struct{ Text, Door, From string }
	}
	if err := json.Unmarshal(text, &list); err != nil || status != http.StatusOK {
		r.t.Fatalf("%d %s: %v", status, text, err)
	}
	found := map[string]string{}
	for _, one := range list.Rejects {
		found[one.Text] = one.Door + " " + one.From
	}
	return found
}

// metric returns a value of /metrics, or -1 if it is missing.
func (r *restarted) metric(name string) float64 {
	r.t.Helper()
	_, text := r.call(r.t, http.MethodGet, "/metrics", "")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return f
		}
	}
	return -1
}

type queue struct {
	t      *testing.T
	client *sqs.Client
	url    string
}

func newQueue(t *testing.T, loaded aws.Config) *queue {
	t.Helper()
	q := &queue{t: t, client: sqs.NewFromConfig(loaded)}
	q.create()
	return q
}

func (q *queue) create() {
	q.t.Helper()
	out, err := q.client.CreateQueue(q.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("readings"), Attributes: map[string]string{"VisibilityTimeout": "2"}})
	if err != nil {
		q.t.Fatal(err)
	}
	q.url = aws.ToString(out.QueueUrl)
}

// send sends messages, and returns the id of the last message.
func (q *queue) send(bodies ...string) (last string) {
	q.t.Helper()
	for _, body := range bodies {
		out, err := q.client.SendMessage(q.t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body})
		if err != nil {
			q.t.Fatal(err)
		}
		last = aws.ToString(out.MessageId)
	}
	return last
}

// left returns the number of messages that are not deleted.
func (q *queue) left() (n int) {
	q.t.Helper()
	out, err := q.client.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		q.t.Fatal(err)
	}
	for _, name := range []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible} {
		part, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			q.t.Fatal(err)
		}
		n += part
	}
	return n
}

// TestSQS_StoresMessagesOnce kills the server while it reads a queue. Each reading must be stored
// once, and each unreadable message must be a reject.
func TestSQS_StoresMessagesOnce(t *testing.T) {
	t.Parallel()
	endpoint, loaded := startEmulator(t, "sqs")
	q := newQueue(t, loaded)
	q.send("[" + object(0) + "," + object(1) + "]")
	for n := 2; n < 600; n++ {
		q.send(object(n))
		if n == 300 {
			q.send("nonsense", object(2)+"\n"+object(n)) // text that is not JSON, and duplicates of two readings
		}
	}
	poison := q.send(`{"device":"d1","time":1}`)
	r := startRestarted(t, "--set", "ingest.sqs.queue="+q.url, "--set", "ingest.sqs.endpoint="+endpoint, "--set", "ingest.sqs.stream=weather")
	for _, n := range []int{50, 200, 400} {
		r.waitStored(n)
		r.restart()
	}
	r.waitStored(600)
	if !varvetest.Eventually(func() bool { return q.left() == 0 }) {
		t.Errorf("%d messages are left\n%s", q.left(), r.Output())
	}
	if n := r.stored(t, "weather"); n != 600 {
		t.Errorf("%d readings are stored, want 600", n)
	}
	found := r.rejects()
	if got := found[`{"device":"d1","time":1}`]; got != "sqs readings "+poison || len(found) != 2 || !strings.HasPrefix(found["nonsense"], "sqs readings ") {
		t.Errorf("the rejects are %v", found)
	}
	before := r.metric(`varve_ingest_records_done_total{source="sqs"}`)
	q.send(object(600))
	r.waitStored(601)
	if !varvetest.Eventually(func() bool { return r.metric(`varve_ingest_records_done_total{source="sqs"}`) == before+1 }) {
		t.Error("the metrics do not count the message")
	}
	if lag := r.metric(`varve_ingest_lag_seconds{source="sqs"}`); lag < 0 || lag > 60 {
		t.Errorf("the lag is %v", lag)
	}
}

// TestSQS_ReportsMissingQueue checks that a missing queue is a condition, and that the consumer
// recovers.
func TestSQS_ReportsMissingQueue(t *testing.T) {
	t.Parallel()
	endpoint, loaded := startEmulator(t, "sqs")
	q := newQueue(t, loaded)
	if _, err := q.client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
		t.Fatal(err)
	}
	r := startRestarted(t, "--set", "ingest.sqs.queue="+q.url, "--set", "ingest.sqs.endpoint="+endpoint, "--set", "ingest.sqs.stream=weather")
	isSet := func() bool { return r.metric(`varve_condition{condition="sqs_unreachable"}`) == 1 }
	if !varvetest.Eventually(isSet) {
		t.Fatalf("the condition is not set\n%s", r.Output())
	}
	q.create()
	q.send(object(1))
	r.waitStored(1)
	if isSet() {
		t.Error("the condition is still set")
	}
}
