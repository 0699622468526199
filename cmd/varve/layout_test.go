package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/varvedb/varve"
)

const oneTable = `{"tables":[{"name":"varve_1794787200_1795392000_11_2026","class":"default","from":"2026-11-15T00:00:00Z","to":"2026-11-22T00:00:00Z",
"write_month":"2026-11","state":"open","readings":1000000,"bytes":46661632,"retires":"2027-11-24T00:00:00Z","drops":"2027-12-24T00:00:00Z",
"why":"written in 2026-11, class default keeps 365d from the later of event time and arrival, and then a grace of 30 days"}],"bound":null}`

const onePlan = `{"actions":[
{"action":"drop","table":"varve_1794787200_1795392000_11_2026","readings":1000000,"bytes":46661632,"reason":"arrival month 2026-11, class default keeps 1y, 2d of margin; 30d of grace"},
{"action":"retire","table":"varve_1795392000_1795996800_11_2026","readings":10,"bytes":46,"reason":"arrival month 2026-11, class default keeps 1y, 2d of margin"},
{"action":"create","table":"a","readings":0,"bytes":0,"reason":"next month"},{"action":"create","table":"b","readings":0,"bytes":0,"reason":"next month"}],
"needed":21,"ready":21,"warnings":[]}`

// emptyTable is an answer with two tables: the table in oneTable, and a table without readings.
var emptyTable = strings.Replace(oneTable, `}],"bound":null}`, `},{"name":"varve_1794787200_1795392000_12_2026","class":"default","state":"ahead"}],"bound":66}`, 1)

const nowPlan = `{"digest":"e3b0c44298fc1c14","needed":21,"ready":21,"actions":[{"action":"create","table":"a","reason":"next month"}],
"warnings":["the quota of 2500 tables (store.table_quota) will be reached in 2036-08: shorten retentions, or raise the quota"]}`

const oneCalendar = `{"months":[{"month":"2026-11","tables":42}],"most":42,"load":[{"class":"default","readings":1248,"bytes":640968,"measured":"1h"}],
"notes":["readings continue to arrive as in this month and the month before, none of them resent"],"warnings":[]}`

const oneWhy = `{"device":"sensor_01","time":"2026-11-21T11:00:00Z","known":true,"streams":[{"stream":"weather","class":"default","rule":"","state":"never",
"text":"No reading is stored, and by its time none has expired. It never came, or it was rejected: the answer to its request had the verdict.",
"readings":[{"time":"2026-11-21T11:00:00.123456Z","id":"18ea39942b0","arrived":"2026-11-21T11:00:01.123Z","alive":true}],
"tables":[{"name":"varve_1794787200_1795392000_11_2026","exists":true,"state":"open","why":"arrival month 2026-11, class default keeps 1y, 2d of margin; then a grace of 30d"}]}]}`

// TestHelp_FitsTerminal checks that the help of each command has at most 80 columns.
func TestHelp_FitsTerminal(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		text := cmd.Long + "\n" + strings.Replace(cmd.UsageString(), cmd.Example, "", 1)
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s --help: a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(rootCommand(&std{columns: 80}))
}

// narrow runs a command whose output is a terminal of 80 columns, against a server with one
// answer.
func narrow(t *testing.T, answer string, args ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	var out, failed bytes.Buffer
	s := std{in: strings.NewReader(""), out: &out, err: &failed, shown: true, columns: 80}
	if code := execute(t.Context(), append(args, "--server", server.URL), s); code != exitOK {
		t.Fatalf("varve %v: exit code %d: %s", args, code, failed.String())
	}
	return out.String()
}

// TestTables_FitTerminal checks that the lists of tables, alerts and devices have at most 80
// columns, with everything that identifies a line. With --wide, all columns must be shown.
func TestTables_FitTerminal(t *testing.T) {
	rows := []struct {
		args, answer string
		kept         []string
	}{
		{"tables list", oneTable, []string{"2026-11-15", "2027-12-24", "1,000,000", "Not shown: retires, class, name, why (--wide shows all columns)"}},
		{"alerts list", `{"alerts":[{"id":"18ea39942b011c00-2bW0zRNJ1zC","rule":"temp","device":"sensor_01","stream":"weather","severity":"critical","message":"temperature is 35.2, above 30","state":"open","since":"2026-11-22T01:19:08.376055384Z","opened_at":"2026-11-22T01:19:09Z"}]}`,
			[]string{"18ea39942b011c00-2bW0zRNJ1zC", "critical", "sensor_01", "temperature is 35.2, above 30"}},
		{"alerts list", `{"alerts":[{"id":"18ea39942b011c00-2bW0zRNJ1zC","device":"sensor_01","severity":"critical","state":"open","late":true,"since":"2026-11-22T01:19:08Z","opened_at":"2026-11-22T01:19:09Z"}]}`,
			[]string{"18ea39942b011c00-2bW0zRNJ1zC", "critical", "sensor_01"}},
		{"rejects list", `{"rejects":[{"id":"c7418689741963214a10cd7d","stream":"weather","device":"sensor_01","code":"time_invalid","times":1,"last":"2026-11-22T01:19:08.376Z","message":"time \"hello\" cannot be read"}]}`,
			[]string{"c7418689741963214a10cd7d", "2026-11-22T01:19:08Z", "Not shown: times, message, door, from"}},
		{"devices list", `{"devices":[{"device":"sensor_01","status":"maintenance","name":"Warehouse Temp A","type":"sensor","location":"Hall 3, second shelf","firmware":"1.0.2","last_seen_at":"2026-11-22T01:19:00Z","created_at":"2026-11-20T01:19:08Z"}]}`,
			[]string{"sensor_01", "maintenance", "Warehouse Temp A", "2026-11-22T01:19:00Z"}},
		{"tables plan --at 2027-12-30", onePlan, []string{"varve_1794787200_1795392000_11_2026", "varve_1795392000_1795996800_11_2026"}},
		{"tables list", emptyTable, []string{"2 tables, 1,000,000 readings, 44.5 MiB; 1 of them is empty and not shown (--all shows it)"}},
		{"tables plan", nowPlan, []string{"carries this out, and refuses any other plan.", "Warning: the quota of 2500 tables"}},
		{"tables calendar", oneCalendar, []string{"Assumed: readings continue to arrive", "set --readings-per-day default=N."}},
		{"why sensor_01 2026-11-21T11:00:00Z", oneWhy, []string{"varve_1794787200_1795392000_11_2026", "by its time none has expired. It never came"}},
	}
	for _, row := range rows {
		out := narrow(t, row.answer, strings.Fields(row.args)...)
		for _, line := range strings.Split(out, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("varve %s: a line of %d columns: %s", row.args, n, line)
			}
		}
		joined := strings.Join(strings.Fields(out), " ")
		for _, kept := range row.kept {
			if !strings.Contains(joined, kept) {
				t.Errorf("varve %s: %q is missing:\n%s", row.args, kept, out)
			}
		}
	}
	one := narrow(t, strings.Replace(oneTable, "1000000", "1", 1), "tables", "list")
	if !strings.Contains(one, "\n1 table, 1 reading, ") {
		t.Errorf("the number of one table is wrong:\n%s", one)
	}
	wide := narrow(t, oneTable, "tables", "list", "--wide")
	if !strings.Contains(wide, "varve_1794787200_1795392000_11_2026") || !strings.Contains(wide, "grace of 30 days") || strings.Contains(wide, "Not shown") {
		t.Errorf("--wide does not show all columns:\n%s", wide)
	}
}

// TestBackupList_KeepsNamesWhole checks that a list of backups on a terminal of 80 columns has each
// name on one line. Users copy the names to other commands.
func TestBackupList_KeepsNamesWhole(t *testing.T) {
	data, place := filepath.Join(t.TempDir(), "data"), t.TempDir()
	runs := func(columns int, args ...string) string {
		var out, failed bytes.Buffer
		s := std{in: strings.NewReader(""), out: &out, err: &failed, shown: true, columns: columns}
		if code := execute(t.Context(), args, s); code != exitOK {
			t.Fatalf("varve %v: exit code %d: %s", args, code, failed.String())
		}
		return out.String()
	}
	runs(0, "keys", "create", "--scope", "admin", "--data", data)
	runs(0, "backup", place, "--data", data)
	list := runs(80, "backup", "list", place)
	if !regexp.MustCompile(`(?m)^20\S+\.\d+Z +\d`).MatchString(list) || !strings.Contains(list, "Not shown: store (--wide") {
		t.Errorf("the name of a backup is cut:\n%s", list)
	}
}

// TestWrapped_KeepsText checks that wrapping loses no characters except spaces at ends of lines.
func TestWrapped_KeepsText(t *testing.T) {
	text := "choose another folder with store.dir, or let the user write to /a/very/long/path/that/has/no/space"
	for width := 1; width < 100; width++ {
		lines := wrapped(text, width)
		for _, line := range lines {
			if len(line) > width {
				t.Errorf("width %d: line %q", width, line)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(text, " ", "") {
			t.Errorf("width %d: %q", width, got)
		}
	}
}

// TestFlags_HaveOneStyle checks that the names of flags are words with hyphens.
func TestFlags_HaveOneStyle(t *testing.T) {
	style := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	n := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if n++; !style.MatchString(f.Name) {
				t.Errorf("%s --%s: a flag has small words, joined by hyphens", cmd.CommandPath(), f.Name)
			}
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(rootCommand(&std{}))
	if n < 100 {
		t.Errorf("%d flags were examined", n)
	}
}

// TestFields_FitTerminal checks that the fields of a reading are divided into lines that fit beside
// their time on a narrow terminal. On a wide terminal, with --wide and without a terminal, they
// must be on one line.
func TestFields_FitTerminal(t *testing.T) {
	fields := []varve.Field{{Name: "humidity", Value: varve.IntValue(52)}, {Name: "temperature", Value: varve.IntValue(22)}, {Name: "note", Value: varve.StringValue("a\nb")}}
	const whole = `humidity=52 temperature=22 note="a\nb"`
	for _, c := range []struct {
		columns int
		wide    bool
		want    []string
	}{{0, false, []string{whole}}, {40, true, []string{whole}}, {60, false, []string{whole}}, {40, false, []string{"humidity=52", "temperature=22", `note="a\nb"`}}} {
		a := queryCommands{&app{std: &std{columns: c.columns}, wide: c.wide}}
		if got := a.fittedFields(fields, 22); !slices.Equal(got, c.want) {
			t.Errorf("%d columns, wide %t: got %q, want %q", c.columns, c.wide, got, c.want)
		}
	}
}
