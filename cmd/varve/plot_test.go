//go:build linux

package main

import (
	"bytes"
	"fmt"

	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// sgr matches a change of color, the only escape sequence in pictures.
var sgr = regexp.MustCompile("\x1b\\[(0|3[1-6]|90)m")

// picturesServer runs a server with a day of readings of two devices. The second one paused for
// half of the day.
func picturesServer(t *testing.T) string {
	t.Helper()
	server, _, _ := serving(t, "--data", t.TempDir())
	eventually(t, "the server does not start", func() bool {
		status, _ := ask(t, server+"/readyz")
		return status == 200
	})
	file := strings.Builder{}
	file.WriteString("device,time,temperature,humidity,state\n")
	at := time.Now().UTC().Truncate(time.Hour)
	for i := range 24 * 6 {
		for _, device := range []string{"s1", "s2"} {
			if device == "s1" || i < 6 || i >= 78 {
				fmt.Fprintf(&file, "%s,%s,%d,%d,ok\n", device, at.Add(time.Duration(-10*i)*time.Minute).Format(time.RFC3339), i%30, 50-i%20)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "day.csv")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := runTo(t, "ingest", "--server", server, "--stream", "weather", path); code != exitOK {
		t.Fatal(text)
	}
	return server
}

// runTo runs a command whose output is not a terminal.
func runTo(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	var out bytes.Buffer
	code = execute(t.Context(), args, std{in: strings.NewReader(""), out: &out, err: &out})
	return code, out.String()
}

// runOn runs a command on a terminal, and returns the text that the terminal receives.
func runOn(t *testing.T, rows, columns uint16, args ...string) (code int, text string) {
	t.Helper()
	tty, shown := terminalOf(t, rows, columns)
	code = execute(t.Context(), args, streamsOf(strings.NewReader(""), tty, tty))
	return code, strings.ReplaceAll(shown(), "\r\n", "\n")
}

// TestPlot_FitsTerminal checks that charts have the size, the characters and the colors of the
// terminal.
func TestPlot_FitsTerminal(t *testing.T) {
	server := picturesServer(t)
	t.Setenv("LC_ALL", "")
	t.Setenv("LC_CTYPE", "")
	commands := [][]string{
		{"query", "weather", "s1", "--from", "-24h", "--plot"},
		{"aggregate", "weather", "--step", "1h", "--functions", "mean,max", "--from", "-24h", "--plot"},
	}
	for _, c := range []struct {
		rows, columns                 uint16
		locale, kind, noColor, expect string
	}{
		{24, 80, "de_DE.UTF-8", "xterm", "", `[⠁-⣿]`},
		{40, 200, "C.utf8", "xterm", "", `[⠁-⣿]`},
		{16, 40, "C.UTF-8", "linux", "", `[▖-▟▀▄▌▐█]`},
		{24, 80, "POSIX", "xterm", "", `\*`},
		{24, 80, "C.UTF-8", "xterm", "1", `\*`},
		{24, 80, "C.UTF-8", "dumb", "", `\*`},
	} {
		t.Setenv("LANG", c.locale)
		t.Setenv("TERM", c.kind)
		t.Setenv("NO_COLOR", c.noColor)
		for _, args := range commands {
			code, text := runOn(t, c.rows, c.columns, append(slices.Clip(args), "--server", server)...)
			plain := sgr.ReplaceAllString(text, "")
			lines := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
			if omits := strings.Contains(strings.ReplaceAll(plain, "\n", " "), "Drawn: the first 6 of 8 lines. Left out: 2."); omits != (args[0] == "aggregate") {
				t.Errorf("%+v %v: omitted lines are reported: %v\n%s", c, args, omits, plain)
			}
			if code != exitOK || len(lines) >= int(c.rows) || !regexp.MustCompile(c.expect).MatchString(plain) {
				t.Errorf("%+v %v: exit code %d, %d lines:\n%s", c, args, code, len(lines), text)
			}
			if hasColors := plain != text; hasColors != (c.noColor == "" && c.kind != "dumb") {
				t.Errorf("%+v: colors %v", c, hasColors)
			}
			if c.locale == "POSIX" && strings.ContainsFunc(plain, func(r rune) bool { return r > unicode.MaxASCII }) {
				t.Errorf("%+v: not ASCII:\n%s", c, plain)
			}
			for _, l := range lines {
				if utf8.RuneCountInString(l) > int(c.columns) {
					t.Errorf("%+v: %q is wider than %d columns", c, l, c.columns)
				}
			}
		}
	}
}

// TestPlot_NamesWhatIsMissing checks the text below a chart, and a chart without values.
func TestPlot_NamesWhatIsMissing(t *testing.T) {
	server := picturesServer(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"query", "weather", "s1", "--from", "-30h"}, []string{"144 readings", "humidity", "temperature", "Not drawn, because they are not numbers: state"}},
		{[]string{"query", "weather", "s1", "--fields", "state"}, []string{"144 readings", "Not drawn, because they are not numbers: state"}},
		{[]string{"query", "weather", "s1", "--to", "2020-01-01"}, []string{"Device s1 has no readings in stream weather in this window."}},
		{[]string{"query", "weather", "s1", "--limit", "10"}, []string{"10 readings", "--cursor"}},
		{[]string{"aggregate", "weather", "--step", "1d", "--during", "2020"}, []string{noBuckets}},
	} {
		code, text := runOn(t, 24, 80, append(c.args, "--plot", "--server", server)...)
		for _, want := range c.want {
			if code != exitOK || !strings.Contains(text, want) {
				t.Errorf("%v: exit code %d, want %q:\n%s", c.args, code, want, text)
			}
		}
	}
	if code, text := runOn(t, 10, 80, "query", "weather", "s1", "--plot", "--server", server); code != exitFailure || !strings.Contains(text, "a terminal of 80 columns and 10 rows is too small") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// TestPictures_RequireTerminal checks that no picture and no escape sequence is written to a file.
func TestPictures_RequireTerminal(t *testing.T) {
	server := picturesServer(t)
	for _, args := range [][]string{
		{"query", "weather", "s1", "--plot"}, {"aggregate", "weather", "--step", "1h", "--plot"}, {"tables", "list", "--grid"},
	} {
		args = append(args, "--server", server)
		if code, text := runTo(t, args...); code != exitUsage || !strings.Contains(text, "requires a terminal: use -o csv") {
			t.Errorf("%v: exit code %d: %s", args, code, text)
		}
		if code, text := runTo(t, append(args, "-o", "csv")...); code != exitUsage || !strings.Contains(text, "excludes -o csv") {
			t.Errorf("%v: exit code %d: %s", args, code, text)
		}
	}
	for _, args := range [][]string{{"devices", "list"}, {"devices", "list", "--stream", "weather"}, {"tables", "list"}} {
		_, text := runTo(t, append(args, "--server", server)...)
		if r, bad := harmful(text); bad || strings.Contains(text, "LAST DAY") || strings.ContainsAny(text, "▁█") {
			t.Errorf("%v: %U in\n%s", args, r, text)
		}
	}
}

// TestTables_DrawGrid checks that the grid has a line for each arrival month, the number of
// readings and the states.
func TestTables_DrawGrid(t *testing.T) {
	server := picturesServer(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	for _, args := range [][]string{{"tables", "list", "--grid"}, {"tables", "list", "--grid", "--all"}} {
		code, text := runOn(t, 24, 80, append(args, "--server", server)...)
		month := time.Now().UTC()
		next := time.Date(month.Year(), month.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		for _, want := range []string{"class default", "216 readings", "█", "\x1b[32m", month.Format("2006-01") + " ", next.Format("2006-01") + " ", "  open\n", "  ahead\n", "· empty"} {
			if code != exitOK || !strings.Contains(text, want) {
				t.Errorf("%v: exit code %d, want %q:\n%s", args, code, want, text)
			}
		}
	}
}

// TestDevices_ShowLastDay checks the bars of a list of devices: one per hour, lower for hours with
// fewer readings. Without roll-ups, the list must have no bars.
func TestDevices_ShowLastDay(t *testing.T) {
	server := picturesServer(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	for _, args := range [][]string{{"devices", "list"}, {"devices", "list", "--stream", "weather"}} {
		code, text := runOn(t, 24, 120, append(args, "--server", server)...)
		_, row, _ := strings.Cut(text, "s2 ")
		row, _, _ = strings.Cut(row, "\n")
		bars := strings.Trim(regexp.MustCompile(`[▁▂▃▄▅▆▇█]{24}`).FindString(row), "")
		if code != exitOK || !strings.Contains(text, "LAST DAY") || strings.Count(bars, "▁") < 11 || !strings.Contains(bars, "█") {
			t.Errorf("%v: exit code %d, bars %q:\n%s", args, code, bars, text)
		}
	}
	off, _, _ := serving(t, "--data", t.TempDir(), "--set", "rollups.enabled=false")
	eventually(t, "the server does not start", func() bool {
		status, _ := ask(t, off+"/readyz")
		return status == 200
	})
	if code, text := runTo(t, "devices", "set", "s3", "--server", off); code != exitOK {
		t.Fatal(text)
	}
	if code, text := runOn(t, 24, 120, "devices", "list", "--server", off); code != exitOK || strings.Contains(text, "LAST DAY") || !strings.Contains(text, "s3") {
		t.Errorf("without roll-ups: exit code %d:\n%s", code, text)
	}
}

// TestPictures_EscapeStoredText checks that stored text cannot control a terminal by a picture.
func TestPictures_EscapeStoredText(t *testing.T) {
	url := evilServer(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	for _, args := range [][]string{{"aggregate", "s", "--step", "5m", "--plot"}, {"tables", "list", "--grid"}, {"query", "s", "d", "--plot"}} {
		tty, shown := terminal(t)
		execute(t.Context(), append(args, "--server", url), streamsOf(strings.NewReader(""), tty, tty))
		text := sgr.ReplaceAllString(shown(), "")
		if r, bad := harmful(text); bad || strings.Contains(text, "\nforged") || args[0] != "query" && !strings.Contains(text, "pwned") {
			t.Errorf("%v: %U in\n%q", args, r, text)
		}
	}
}

// TestAxis_FollowsTimezone checks that a chart has the window of the server: a date begins at midnight in the zone
// of the buckets.
func TestAxis_FollowsTimezone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2026-04-20": "2026-04-19T22:00:00Z", "2026-01": "2025-12-31T23:00:00Z", "2026-04-20 08:30": "2026-04-20T06:30:00Z",
		"2026-04-20T08:30:00Z": "2026-04-20T08:30:00Z", "1776672000000": "2026-04-20T08:00:00Z", "then": "0001-01-01T00:00:00Z", "": "0001-01-01T00:00:00Z",
	} {
		if from, _ := axisOf(text, "", "", berlin); from.UTC().Format(time.RFC3339) != want {
			t.Errorf("a chart from %q begins at %s, want %s", text, from.UTC().Format(time.RFC3339), want)
		}
	}
	from, to := axisOf("", "", "2026-04-20", berlin)
	if got, want := from.UTC().Format(time.RFC3339)+" "+to.UTC().Format(time.RFC3339), "2026-04-19T22:00:00Z 2026-04-20T22:00:00Z"; got != want {
		t.Errorf("a chart of a day shows %s, want %s", got, want)
	}
}
