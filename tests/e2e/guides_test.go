package e2e

import (
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/varvetest"
)

const guides = "../../docs/guides/README.md"

// guide returns the fenced blocks of a language in a section of the guides.
func guide(t *testing.T, section, language string) (blocks []string) {
	t.Helper()
	_, text, ok := strings.Cut(readText(t, guides), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("%s has no section %s", guides, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for _, part := range strings.Split(text, "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatalf("section %s has no block in %s", section, language)
	}
	return blocks
}

// runBlock runs a block of a guide in a folder, as a user's shell does.
func runBlock(t *testing.T, s *varvetest.Server, dir, block string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", block)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "VARVE_SERVER="+s.URL, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, block, text)
	}
	return string(text)
}

// checkReadings checks the number of readings of a device. The readings, as NDJSON, must contain
// each wanted text.
func checkReadings(t *testing.T, s *varvetest.Server, stream, device string, want ...string) {
	t.Helper()
	text := call(t, http.MethodGet, s.URL+"/v1/streams/"+stream+"/devices/"+device+"/readings?format=ndjson", "")
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s %s: no reading has %s:\n%s", stream, device, w, text)
		}
	}
	if n := strings.Count(text, `"fields"`); n != len(want) {
		t.Errorf("%s %s: %d readings, want %d:\n%s", stream, device, n, len(want), text)
	}
}

// TestGuide_Telegraf runs Telegraf with the output plugin that the guide configures. Telegraf must report
// a body that Varve rejects, and Varve must store nothing of it.
func TestGuide_Telegraf(t *testing.T) {
	tool, dir := telegraf(t), t.TempDir()
	s := start(t, dir)
	output := strings.ReplaceAll(guide(t, "Telegraf", "toml")[0], "http://127.0.0.1:8278", s.URL)
	config := "[agent]\nomit_hostname = true\n[[inputs.file]]\nfiles = [\"lines\"]\ndata_format = \"influx\"\n" + output
	if err := os.WriteFile(filepath.Join(dir, "telegraf.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	collect := func(lines string) string {
		if err := os.WriteFile(filepath.Join(dir, "lines"), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		return runBlock(t, s, dir, `"$TELEGRAF" --once --config telegraf.conf`, "TELEGRAF="+tool, "VARVE_KEY=none")
	}
	collect("weather,device=sensor_01 temperature=22.5,humidity=51i 1733061600000000000\nweather,device=sensor_02 temperature=19 1733061600000000000\n")
	checkReadings(t, s, "telegraf", "sensor_01", `"fields":{"humidity":51,"temperature":22.5}`)
	checkReadings(t, s, "telegraf", "sensor_02", `"time":"2024-12-01T14:00:00Z"`)
	if said := collect("weather,device=sensor_01 temperature=1 7258118400000000000\n"); !strings.Contains(said, "422") {
		t.Errorf("Telegraf has not reported status 422:\n%s", said)
	}
	checkReadings(t, s, "telegraf", "sensor_01", `"fields":{"humidity":51,"temperature":22.5}`)
}

// TestGuide_AWSIoT sends the JSON text of the guide for AWS IoT rules, alone and in a batch. The reading
// must be stored once.
func TestGuide_AWSIoT(t *testing.T) {
	s := start(t, t.TempDir(), "--set", "aws.iot.accounts=123456789012")
	body := guide(t, "AWS IoT rules", "json")[0]
	for _, sent := range []string{body, "[" + body + "]"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/aws/iot/telemetry", strings.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if status, text, err := do(req); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %v\n%s", sent, status, err, text)
		}
	}
	checkReadings(t, s, "telemetry", "sensor_01", `"fields":{"humidity":51,"temperature":22.4}`)
	for _, name := range []string{"AS device", "AS time", "AS fields"} {
		if sql := guide(t, "AWS IoT rules", "sql")[0]; !strings.Contains(sql, name) {
			t.Errorf("the rule has no %q:\n%s", name, sql)
		}
	}
}

// TestGuide_Cron runs the script of the guide for cron three times. Each of its readings must be stored
// once. The request of the guide with curl must send the same readings.
func TestGuide_Cron(t *testing.T) {
	s, dir := start(t, t.TempDir()), t.TempDir()
	blocks := guide(t, "Cron scripts", "sh")
	for range 3 {
		if said := runBlock(t, s, dir, blocks[0]); said != "" {
			t.Errorf("cron would mail %q", said)
		}
		// A second has to pass, so that the lines have different times.
		from := time.Now().Truncate(time.Second)
		if !varvetest.Eventually(func() bool { return time.Now().Truncate(time.Second).After(from) }) {
			t.Fatal("time stands still")
		}
	}
	metrics := call(t, http.MethodGet, s.URL+"/metrics", "")
	if !strings.Contains(metrics, `varve_readings_total{outcome="stored"} 3`) || strings.Contains(metrics, `varve_readings_total{outcome="duplicate"} 3`) {
		t.Errorf("lines were sent more than once")
	}
	lines := strings.Count(readText(t, filepath.Join(dir, "climate.csv")), "cellar")
	if lines != 3 {
		t.Fatalf("the script wrote %d lines", lines)
	}
	answer := runBlock(t, s, dir, blocks[1])
	// The script has sent these lines with varve ingest, so all of them are duplicates.
	if !strings.Contains(answer, `"stored":0`) || !strings.Contains(answer, `"duplicates":3`) {
		t.Errorf("curl sends other readings than varve ingest: %s", answer)
	}
}

// TestGuide_InfluxDB copies a measurement from a real InfluxDB twice, with the commands of the guide.
// Each reading must be stored once.
func TestGuide_InfluxDB(t *testing.T) {
	client, daemon := packaged(t, "influx", "influxdb-client"), packaged(t, "influxd", "influxdb")
	s, dir := start(t, t.TempDir()), t.TempDir()
	port, rpc := freePort(t), freePort(t)
	db := exec.CommandContext(t.Context(), daemon)
	db.Env = append(os.Environ(), "INFLUXDB_HTTP_BIND_ADDRESS=127.0.0.1:"+port, "INFLUXDB_BIND_ADDRESS=127.0.0.1:"+rpc, "INFLUXDB_REPORTING_DISABLED=true",
		"INFLUXDB_META_DIR="+dir+"/meta", "INFLUXDB_DATA_DIR="+dir+"/data", "INFLUXDB_DATA_WAL_DIR="+dir+"/wal")
	if err := db.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = db.Wait() // fails, because the process was killed
	})
	url := "http://127.0.0.1:" + port
	if !varvetest.Eventually(func() bool {
		resp, err := http.Get(url + "/ping")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusNoContent
	}) {
		t.Fatal("InfluxDB does not start")
	}
	runBlock(t, s, dir, fmt.Sprintf(`curl -sf -XPOST '%s/query?q=CREATE+DATABASE+home'
curl -sf --data-binary 'weather,sensor=s1,room=hall temperature=22.4,humidity=51i 1733061600000000000
weather,sensor=s1,room=hall temperature=22.5 1733061660000000000
weather,sensor=s2,room=attic temperature=-3 1733061600000000000' '%s/write?db=home'`, url, url))
	path := "PATH=" + filepath.Dir(client) + ":" + filepath.Dir(binary) + ":" + os.Getenv("PATH")
	for range 2 {
		runBlock(t, s, dir, guide(t, "InfluxDB", "sh")[0], "INFLUX_PORT="+port, path)
	}
	checkReadings(t, s, "weather", "s1", `{"humidity":51,"room":"hall","temperature":22.4}`, `{"room":"hall","temperature":22.5}`)
	checkReadings(t, s, "weather", "s2", `{"room":"attic","temperature":-3}`)
}

// TestGuide_Timestream ingests two files in the format of Timestream's UNLOAD with the commands of the guide.
func TestGuide_Timestream(t *testing.T) {
	s, dir := start(t, t.TempDir()), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "unload"), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]string{"1.csv.gz": "14:00:00.000000000,22.4,51", "2.csv.gz": "14:01:00.250000000,22.5,"} {
		f, err := os.Create(filepath.Join(dir, "unload", name))
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		_, err = z.Write([]byte("device_id,time,temperature,humidity\ns1,2024-12-01 " + row + "\n"))
		if err != nil || z.Close() != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	runBlock(t, s, dir, guide(t, "Timestream", "sh")[0])
	checkReadings(t, s, "weather", "s1", `"fields":{"humidity":51,"temperature":22.4}`, `"time":"2024-12-01T14:01:00.25Z"`)
}

// TestGuide_DynamoDB copies a table of a DynamoDB emulator with the commands of the guide and the AWS CLI.
func TestGuide_DynamoDB(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	s, dir := start(t, t.TempDir()), t.TempDir()
	// The function adds the emulator's address to the commands of the guide.
	prelude := "aws() { command aws --endpoint-url " + url + " \"$@\"; }\n"
	env := []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_DEFAULT_REGION=us-east-1"}
	runBlock(t, s, dir, prelude+`aws dynamodb create-table --table-name Readings --billing-mode PAY_PER_REQUEST \
  --attribute-definitions AttributeName=deviceId,AttributeType=S AttributeName=ts,AttributeType=N \
  --key-schema AttributeName=deviceId,KeyType=HASH AttributeName=ts,KeyType=RANGE
for i in 1 2 3; do
  aws dynamodb put-item --table-name Readings \
    --item '{"deviceId":{"S":"s1"},"ts":{"N":"173306160000'$i'"},"temperature":{"N":"22.123456789012345678"},"humidity":{"N":"5'$i'"}}'
done
aws dynamodb put-item --table-name Readings --item '{"deviceId":{"S":"s1"},"ts":{"N":"1733061600009"},"temperature":{"N":"1"}}'
`, env...)
	runBlock(t, s, dir, prelude+guide(t, "DynamoDB tables", "sh")[0], env...)
	checkReadings(t, s, "readings", "s1", `"humidity":51`, `"humidity":52`, `{"humidity":53,"temperature":22.123456789012345678}`, `"fields":{"temperature":1}`)
}

func freePort(t *testing.T) string {
	t.Helper()
	address, err := varvetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
