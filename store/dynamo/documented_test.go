package dynamo_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store"
)

// documented returns the examples in docs/data-model.md, "DynamoDB rows". The stream of "rows" has a row
// window of a millisecond, and the stream of "wide" one of an hour. "command" prints rows with the AWS CLI.
func documented(t *testing.T) (rows, wide []any, command []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/data-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## DynamoDB rows")
	var blocks []string
	for _, part := range strings.Split(section, "```json\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of rows in the document, want 2", len(blocks))
	}
	for i, into := range []*[]any{&rows, &wide} {
		if err := json.Unmarshal([]byte(blocks[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	_, shell, _ := strings.Cut(section, "$ aws ")
	shell, _, _ = strings.Cut(shell, "```")
	return rows, wide, []string{"-c", "exec aws --output json --endpoint-url $URL " + shell}
}

func awsCLI(t *testing.T, url string, shell []string) (out []any) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", shell...)
	cmd.Env = append(os.Environ(), "URL="+url, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION=eu-central-1", "AWS_PAGER=")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", shell, err)
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return out
}

// canonical formats rows as text, with sorted sets.
func canonical(t *testing.T, rows []any) string {
	t.Helper()
	for _, row := range rows {
		ids := row.(map[string]any)["_ids"].(map[string]any)["SS"].([]any)
		slices.SortFunc(ids, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func documentedReadings(t *testing.T) []varve.Reading {
	t.Helper()
	number := func(text string) varve.Value {
		n, err := decimal.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return varve.NumberValue(n)
	}
	place, err := varve.JSONValue([]byte(`{"lat":52.5}`))
	if err != nil {
		t.Fatal(err)
	}
	list := []varve.Reading{
		{Fields: []varve.Field{{Name: "temperature", Value: number("22.4")}, {Name: "unit", Value: varve.StringValue("C")}, {Name: "place", Value: place}}},
		{Fields: []varve.Field{{Name: "temperature", Value: number("22.50")}, {Name: "on", Value: varve.BoolValue(true)}, {Name: "ts", Value: number("7")}}},
		{Fields: []varve.Field{{Name: "temperature", Value: number("22.4")}}},
	}
	for i := range list {
		r := &list[i]
		r.Series = varve.Series{Tenant: "acme", Stream: "weather", Device: "sensor_01"}
		r.Time, r.Arrived = someTime, someTime.Add([]time.Duration{time.Second, 1250 * time.Millisecond, 2 * time.Second}[i])
		if id := []string{"first", "second", ""}[i]; id != "" {
			if r.ID, err = varve.ParseID(id); err != nil {
				t.Fatal(err)
			}
		} else {
			r.Time = r.Time.Add(time.Microsecond)
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
	return list
}

// TestRows_AgreeWithDocumentation compares written rows, as the AWS CLI prints them, with
// docs/data-model.md. It also writes the documented rows with the AWS CLI, and reads them.
func TestRows_AgreeWithDocumentation(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			s := open(t, url, time.Now)
			tb := tableOf("varve", someTime)
			if err := s.Create(t.Context(), tb, store.Hot); err != nil {
				t.Fatal(err)
			}
			rows, wide, command := documented(t)
			readings := documentedReadings(t)
			writeWith(t, s, tb, store.Layout{DeleteAfter: 30 * 24 * time.Hour}, readings...)
			if got, want := canonical(t, awsCLI(t, url, command)), canonical(t, rows); got != want {
				t.Errorf("the AWS CLI shows\n%s\nand the documentation\n%s", got, want)
			}
			minute := readings[2]
			minute.Stream, minute.Time, minute.Arrived = "uploads", someTime.Add(time.Minute), someTime.Add(time.Second)
			writeWith(t, s, tb, store.Layout{RowWindow: time.Hour}, minute)
			command[1] = strings.Replace(command[1], "acme/weather/", "acme/uploads/", 1)
			if got, want := canonical(t, awsCLI(t, url, command)), canonical(t, wide); got != want {
				t.Errorf("the AWS CLI shows\n%s\nand the documentation\n%s", got, want)
			}
			readPutRow(t, url, rows[0].(map[string]any), readings)
		})
	}
}

// readPutRow writes a row into another table with the AWS CLI, and checks the readings in the row.
func readPutRow(t *testing.T, url string, row map[string]any, want []varve.Reading) {
	s := open(t, url, time.Now)
	tb := tableOf("byhand", someTime)
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/row.json", text, 0o600); err != nil {
		t.Fatal(err)
	}
	awsCLI(t, url, []string{"-c", "exec aws --endpoint-url $URL dynamodb put-item --table-name " + tb.Name() + " --item file://" + dir + "/row.json"})
	got := stored(t, s, tb)
	sameReadings(t, "put row", got, want)
	if verdicts := send(t, s, tb, want...); verdicts != "ddd" {
		t.Errorf("resent: verdicts %s, want ddd", verdicts)
	}
}
