package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/dynamotest"
)

// moved are readings with all kinds of values. The times are relative to the hour of the test.
var moved = []string{
	`{"device":"numbers","time":"LATE","fields":{"a":22.40,"b":0.000,"c":-1.5e3,"d":123456789012345678901234567890,"e":0.00000000000000000000000000001,"f":7}}`,
	`{"device":"kinds","time":"NOW","fields":{"yes":true,"no":false,"object":{"b":[1,2.50],"a":"12"},"list":["x",null],"none":{}}}`,
	`{"device":"texts","time":"NOW","fields":{"n":"12","z":"1.50","e":"1e3","sign":"+5","point":".5","zeros":"007","yes":"true","no":"false","up":"True"}}`,
	`{"device":"texts","time":"LATE","fields":{"object":"{}","list":"[1]","open":"[1","empty":"","space":" ","pad":" x ","nan":"NaN","inf":"-inf","null":"null"}}`,
	`{"device":"texts","time":"OLD","fields":{"comma":"1,5","quote":"say \"12\"","line":"a\nb","return":"a\r\nb","tab":"\t","semi":"a;b","accent":"é°"}}`,
	`{"device":"mixed","time":"OLD","fields":{"v":"12"}}`,
	`{"device":"mixed","time":"LATE","fields":{"v":12}}`,
	`{"device":"mixed","time":"NOW","fields":{"v":true,"a,b":"true","c\"d":"[]"}}`,
	`{"device":"d,1","time":"NOW","id":"own,1","fields":{"v":"1"}}`,
	`{"device":"d\"2","time":"NOW","id":"12","fields":{"id":"3","time":"4","arrived":5,"device":"true"}}`,
	`{"device":"versions","time":"NOW","id":"v","fields":{"v":"1"}}`,
	`{"device":"versions","time":"NOW","id":"v","version":2,"fields":{"v":"2.0"}}`,
	`{"device":"versions","time":"NOW","id":"v","version":7,"fields":{"v":3.0,"w":""}}`,
}

// movedReadings returns the readings of the variable "moved" as NDJSON, with times relative to now.
func movedReadings(now time.Time) string {
	at := func(age time.Duration) string { return now.Add(-age).Truncate(time.Hour).UTC().Format(time.RFC3339) }
	return strings.NewReplacer("NOW", at(0), "LATE", at(40*24*time.Hour), "OLD", at(200*24*time.Hour)).Replace(strings.Join(moved, "\n")) + "\n"
}

// storedReadings returns all versions of all readings of a stream, without their arrivals.
func storedReadings(t *testing.T, server, stream string) (lines []string) {
	t.Helper()
	for _, device := range []string{"numbers", "kinds", "texts", "mixed", "d,1", `d"2`, "versions"} {
		path := "/v1/streams/" + stream + "/devices/" + strings.ReplaceAll(device, `"`, "%22") + "/readings?versions=true&format=ndjson"
		status, text := send(t, http.MethodGet, server+path, "")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		_, body, _ := strings.Cut(text, "\n\n")
		for line := range strings.Lines(body) {
			before, after, _ := strings.Cut(line, `"arrived":`)
			_, fields, _ := strings.Cut(after, ",")
			lines = append(lines, device+" "+before+strings.TrimSpace(fields))
		}
	}
	return lines
}

// TestMove_BetweenEmbeddedStoreAndDynamoDB exports readings with all kinds of values from the embedded store,
// ingests them into DynamoDB, and moves them back, in each format. All digits, kinds, ids and versions must be
// equal each time.
func TestMove_BetweenEmbeddedStoreAndDynamoDB(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	from := start(t, t.TempDir(), "--data", "data").URL
	dynamo := start(t, t.TempDir(), "--store", "dynamodb", "--set", "store.endpoint="+url, "--set", "streams.csv.arrivals=true").URL
	back := start(t, t.TempDir(), "--data", "data").URL
	status, text := send(t, http.MethodPost, from+"/v1/streams/moved/readings", movedReadings(time.Now()))
	if status != http.StatusOK || strings.Contains(text, `"rejected":1`) {
		t.Fatalf("%d %s", status, text)
	}
	want := storedReadings(t, from, "moved")
	if len(want) != len(moved) {
		t.Fatalf("%d readings, want %d:\n%s", len(want), len(moved), strings.Join(want, "\n"))
	}
	dir := t.TempDir()
	move := func(from, stream, to, target, format, folder string, state ...string) {
		t.Helper()
		args := append([]string{"export", stream, folder, "--format", format, "--server", from}, state...)
		if text, code := varveIn(t, dir, args...); code != 0 || !strings.Contains(text, "13 readings") {
			t.Fatalf("varve %v: %d %s", args, code, text)
		}
		args = []string{"ingest", "--stream", target, "--server", to, folder}
		if text, code := varveIn(t, dir, args...); code != 0 || !strings.Contains(text, "13 stored") {
			t.Fatalf("varve %v: %d %s", args, code, text)
		}
		if got := storedReadings(t, to, target); !slices.Equal(got, want) {
			files, _ := filepath.Glob(filepath.Join(dir, folder, "*"))
			file, _ := os.ReadFile(files[0])
			t.Errorf("%s: the readings are\n%s\nwant\n%s\nthe first file is\n%s", folder, strings.Join(got, "\n"), strings.Join(want, "\n"), file)
		}
	}
	for _, format := range []string{"ndjson", "csv", "parquet"} {
		move(from, "moved", dynamo, format, format, format)
		var state []string
		if format == "csv" {
			state = []string{"--since", "state"} // the readings arrived a moment ago
		}
		move(dynamo, format, back, format, format, format+" back", state...)
	}
}
