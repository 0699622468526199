package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const oneTable = `{"tables":[{"name":"varve_1794787200_1795392000_11_2026","class":"default","from":"2026-11-15T00:00:00Z","to":"2026-11-22T00:00:00Z",
"write_month":"2026-11","state":"open","readings":1000000,"bytes":46661632,"retires":"2027-11-24T00:00:00Z","drops":"2027-12-24T00:00:00Z",
"why":"written in 2026-11, class default keeps 365d from the later of event time and arrival, and then a grace of 30 days"}],"bound":null}`

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
			[]string{"18ea39942b011c00-2bW0zRNJ1zC", "critical", "sensor_01"}},
		{"devices list", `{"devices":[{"device":"sensor_01","status":"maintenance","name":"Warehouse Temp A","type":"sensor","location":"Hall 3, second shelf","firmware":"1.0.2","lastSeenAt":"2026-11-22T01:19:00Z","createdAt":"2026-11-20T01:19:08Z"}]}`,
			[]string{"sensor_01", "maintenance", "Warehouse Temp A", "2026-11-22T01:19:00Z"}},
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
	wide := narrow(t, oneTable, "tables", "list", "--wide")
	if !strings.Contains(wide, "varve_1794787200_1795392000_11_2026") || !strings.Contains(wide, "grace of 30 days") || strings.Contains(wide, "Not shown") {
		t.Errorf("--wide does not show all columns:\n%s", wide)
	}
}

// TestWrapped_KeepsText checks that wrapping loses no character but spaces at ends of lines.
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
