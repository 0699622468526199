package dynamosim_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

var update = flag.Bool("update", false, "rewrite the expectations with the answers of today")

const expectations = "testdata/expectations.txt"

// exchange is a request and the answers to it.
type exchange struct {
	comment string            // comment lines before the request
	request string            // operation and JSON parameters
	want    string            // answer of Amazon
	others  map[string]string // different answers of emulators, by name
}

// readExchanges reads the file of expectations. A line that begins with ">" has a request. A line that
// begins with "<" has Amazon's answer. If an emulator answers otherwise, a line that begins with its
// name and "<" has its answer.
func readExchanges(t *testing.T) (list []exchange) {
	t.Helper()
	data, err := os.ReadFile(expectations)
	if err != nil {
		t.Fatal(err)
	}
	comment := ""
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSuffix(line, "\n")
		if name, answer, found := strings.Cut(text, "< "); found && !strings.HasPrefix(text, ">") && !strings.HasPrefix(text, "#") {
			last := &list[len(list)-1]
			if name = strings.TrimSpace(name); name == "" {
				last.want = answer
			} else {
				last.others[name] = answer
			}
			continue
		}
		if request, found := strings.CutPrefix(text, "> "); found {
			list = append(list, exchange{comment: comment, request: request, others: map[string]string{}})
			comment = ""
			continue
		}
		comment += line
	}
	return list
}

// post sends a request and returns the answer as one line. The line is sorted JSON, or the status, type
// and message of an error.
func post(t *testing.T, url, request string) string {
	t.Helper()
	op, body, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261122/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00")
	req.Header.Set("X-Amz-Date", "20261122T000000Z")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return canonical(t, resp.StatusCode, text)
}

// canonical formats an answer as one line.
func canonical(t *testing.T, status int, text []byte) string {
	t.Helper()
	var answer map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Fatalf("answer %q: %s", text, err)
	}
	kind, _ := answer["__type"].(string)
	if status == http.StatusOK {
		return oneLine(t, sorted(answer))
	}
	message, _ := answer["message"].(string)
	if message == "" {
		message, _ = answer["Message"].(string)
	}
	line := fmt.Sprintf("%d %s: %s", status, kind[strings.LastIndexByte(kind, '#')+1:], message)
	if item := answer["Item"]; item != nil {
		line += " " + oneLine(t, sorted(item))
	}
	return line
}

// volatile lists the fields of answers that the test does not compare, because they differ between runs or emulators.
var volatile = []string{
	"CreationDateTime", "TableId", "TableArn", "IndexArn", "LastUpdateToPayPerRequestDateTime", "LastIncreaseDateTime", "LastDecreaseDateTime",
	"TableStatus", "IndexStatus", "TableThroughputModeSummary", "NumberOfDecreasesToday", "OnDemandThroughput", "WarmThroughput", "TableSizeBytes", "IndexSizeBytes", "ItemCount", "ThrottlingReasons",
}

// sorted sorts the sets in an answer, and removes volatile and empty fields.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			m, isMap := member.(map[string]any)
			isEmpty := isMap && len(m) == 0 && strings.HasPrefix(name, "Unprocessed") || name == "DeletionProtectionEnabled" && member == false
			if isEmpty || slices.Contains(volatile, name) {
				delete(v, name)
				continue
			}
			if set, isSet := member.([]any); isSet && slices.Contains([]string{"SS", "NS", "BS", "AttributeDefinitions", "GlobalSecondaryIndexes"}, name) {
				slices.SortFunc(set, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			v[name] = sorted(member)
		}
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return v
}

func oneLine(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// TestStandIn_AnswersAsEmulatorsDo sends the same requests to the stand-in and to both emulators.
// The stand-in must give Amazon's answer. If an emulator differs, the expectations also have its
// answer. Error messages of emulators may differ.
func TestStandIn_AnswersAsEmulatorsDo(t *testing.T) {
	list := readExchanges(t)
	all := []dynamotest.Emulator{dynamotest.StandIn, dynamotest.Dynoxide, dynamotest.Local}
	answers := make([][]string, len(all))
	for i, e := range all {
		start := e.Start
		if e.Name == dynamotest.StandIn.Name {
			start = func(testing.TB) string { return startHere(t, dynamosim.Options{}) }
		}
		url := start(t)
		for j := range list {
			answers[i] = append(answers[i], post(t, url, list[j].request))
		}
	}
	if *update {
		rewrite(t, list, all, answers)
		return
	}
	for j, x := range list {
		for i, e := range all {
			want := x.want
			if other, deviates := x.others[e.Name]; deviates {
				want = other
			}
			if got := answers[i][j]; got != want && (e.Name == dynamotest.StandIn.Name || !areAlike(got, want)) {
				t.Errorf("%s: %s\ngot  %s\nwant %s", e.Name, x.request, got, want)
			}
		}
	}
}

// areAlike reports whether two answers are the same. It ignores the messages of errors.
func areAlike(a, b string) bool {
	kindOf := func(answer string) string {
		kind, rest, isError := strings.Cut(answer, ": ")
		if !isError || strings.HasPrefix(answer, "{") {
			return answer
		}
		if _, item, found := strings.Cut(rest, " {\""); found && strings.Contains(kind, "ConditionalCheckFailed") {
			kind += item
		}
		return kind
	}
	return kindOf(a) == kindOf(b)
}

// rewrite writes the file of expectations with the current answers. Review the stand-in's
// answers afterward.
func rewrite(t *testing.T, list []exchange, all []dynamotest.Emulator, answers [][]string) {
	t.Helper()
	var b strings.Builder
	for j, x := range list {
		fmt.Fprintf(&b, "%s> %s\n< %s\n", x.comment, x.request, answers[0][j])
		for i, e := range all[1:] {
			if got := answers[i+1][j]; !areAlike(got, answers[0][j]) {
				fmt.Fprintf(&b, "%s < %s\n", e.Name, got)
			}
		}
	}
	if err := os.WriteFile(expectations, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("rewritten at %s", time.Now().Format(time.TimeOnly))
}
