//go:build linux

package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/wire"
	"unicode"
)

// evil is a device name that attacks a terminal. It sets the title and a color, clears the
// screen with a C1 character, begins a line, and reverses and hides text.
const evil = "a\x1b]0;pwned\a\x1b[31mRED\u009b2J\r\nforged  row\t\u202eabc\u2066\u200b\ufeff\u2028z\U000e0041\x7f"

// evilServer starts a server whose answers have evil in every text.
func evilServer(t *testing.T) string {
	t.Helper()
	// Of the characters of evil, only these must be escaped in JSON.
	raw := strings.NewReplacer("\x1b", `\u001b`, "\a", `\u0007`, "\r", `\r`, "\n", `\n`, "\t", `\t`).Replace(evil)
	quoted := `"` + raw + `"`
	one := `{"device":E,"name":E,"type":E,"status":E,"location":E,"firmware":E,"attributes":{"a":E},"retention":E,` +
		`"time":"2026-01-01T00:00:00Z","state":E,"message":E,"operator":E,"escalated_to":E,"id":E,"stream":E,"rule":E,"severity":E,"value":E,` +
		`"field":E,"comparison":E,"threshold":E,"for":E,"kind":E,"class":E,"classes":[E],"row_window":E,"tenant":E,"scopes":[E],"prefix":E,"hold":E,"why":E,"write_month":E,"tier":E}`
	reading := `{"time":"2026-01-01T00:00:00Z","id":E,"arrived":"2026-01-01T00:00:00Z","fields":{"a":E}}`
	answer := func(body string) []byte { return []byte(strings.ReplaceAll(body, "E", quoted)) }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", wire.HeaderNext)
		defer w.Header().Set(wire.HeaderNext, "")
		switch last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; {
		case r.URL.Path == "/v1/devices/broken":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write(answer(`{"title":"Conflict","status":409,"detail":E}`))
		case r.Method == http.MethodPost:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write(answer(`{"stored":0,"duplicates":0,"rejected":1,"rejects":[{"index":0,"line":2,"code":"time_invalid","message":E}]}`))
		case last == "readings" && r.URL.Query().Get("format") == "csv" || strings.Contains(r.Header.Get("Accept"), "csv"):
			w.Header().Set("Content-Type", "text/csv")
			_, _ = io.WriteString(w, "time,id,arrived,a\r\n2026-01-01T00:00:00Z,x,2026-01-01T00:00:00Z,\""+strings.ReplaceAll(evil, `"`, `""`)+"\"\r\n")
		case last == "readings" && strings.Contains(r.Header.Get("Accept"), "ndjson"):
			_, _ = w.Write(answer(reading + "\n"))
		case last == "readings":
			_, _ = w.Write(answer(`{"readings":[` + reading + `]}`))
		case last == "latest":
			_, _ = w.Write(answer(`{"latest":[{"device":E,"reading":` + reading + `}]}`))
		case last == "aggregate":
			_, _ = w.Write(answer(`{"buckets":[{"device":E,"start":"2026-01-01T00:00:00Z","readings":1,"fields":{E:{"mean":1}}}],"source":"readings"}`))
		case last == "rollups":
			_, _ = w.Write(answer(`{"rollups":[]}`))
		case strings.HasPrefix(r.URL.Path, "/v1/devices/") && last == "one":
			_, _ = w.Write(answer(one))
		default:
			name := map[string]string{"alert-rules": "rules", "escalations": "logs"}[last]
			if name == "" {
				name = last
			}
			_, _ = w.Write(answer(`{"` + name + `":[` + one + `]}`))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var evilCommands = [][]string{
	{"logs", "list", "d"}, {"logs", "operator", "o"}, {"logs", "escalated", "s"}, {"devices", "list"}, {"devices", "get", "one"}, {"devices", "get", "broken"},
	{"alerts", "list"}, {"rules", "list"}, {"streams"}, {"tables", "list"}, {"keys", "list"}, {"query", "s", "d"}, {"latest", "s", "d"}, {"aggregate", "s", "--step", "5m"},
}

// harmful returns the first character in a terminal's input that the program should have escaped.
func harmful(shown string) (rune, bool) {
	for _, r := range strings.NewReplacer("\r\r\n", "\n", "\r\n", "\n").Replace(shown) { // the terminal converts ends of lines
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return r, true
		}
	}
	return 0, false
}

// TestTerminal_GetsNoControlCharacters checks that stored text can neither control a terminal nor
// begin a line, for each of evilCommands in each format.
func TestTerminal_GetsNoControlCharacters(t *testing.T) {
	url := evilServer(t)
	for _, command := range evilCommands {
		for _, form := range []string{"table", "csv", "json", "ndjson"} {
			tty, shown := terminal(t)
			execute(t.Context(), append(command[:len(command):len(command)], "--server", url, "-o", form), std{in: strings.NewReader(""), out: tty, err: tty, shown: true, terminal: true})
			text := shown()
			if strings.Contains(text, "is unknown: use") {
				continue // the command does not have this format
			}
			if r, bad := harmful(text); bad {
				t.Errorf("%v as %s: %U in\n%q", command, form, r, text)
			}
			if !strings.Contains(text, "pwned") || strings.Contains(text, "\nforged") {
				t.Errorf("%v as %s:\n%s", command, form, text)
			}
		}
	}
}

// TestTables_GetNoControlCharacters checks that tables and errors have no control characters if
// they are written to a file or a pipe.
func TestTables_GetNoControlCharacters(t *testing.T) {
	url := evilServer(t)
	for _, command := range append(evilCommands, []string{"ingest", "--stream", "s", "--format", "csv", "-"}) {
		var out, errs bytes.Buffer
		execute(t.Context(), append(command[:len(command):len(command)], "--server", url), std{in: strings.NewReader("device,time,a\nd,x,1\n"), out: &out, err: &errs})
		text := out.String() + errs.String()
		if r, bad := harmful(text); bad || strings.Contains(text, "\nforged") || !strings.Contains(text, "pwned") {
			t.Errorf("%v: %U in\n%q", command, r, text)
		}
	}
}

// TestFiles_GetStoredText checks that CSV for a program has the stored text unchanged.
func TestFiles_GetStoredText(t *testing.T) {
	var out bytes.Buffer
	if code := execute(t.Context(), []string{"query", "s", "d", "--server", evilServer(t), "-o", "csv"}, std{in: strings.NewReader(""), out: &out, err: io.Discard}); code != exitOK {
		t.Fatal(code)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if want := strings.ReplaceAll(evil, "\r\n", "\n"); err != nil || rows[1][3] != want { // a CSV reader converts \r\n to \n
		t.Errorf("%v, %q", err, rows)
	}
}

// TestPrinter_Splits checks that the output does not depend on how the input is divided into
// writes.
func TestPrinter_Splits(t *testing.T) {
	const text = "é,\"a\r\n\u009bb\"\"\n\"\r\nü\u202e\xff\rx\n"
	const want = "é,\"a\\r\\n\\u009bb\"\"\\n\"\r\nü\\u202e\\ufffd\\rx\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		p := &printer{w: &out, csv: true}
		for at := 0; at < len(text); at += size {
			part := text[at:min(at+size, len(text))]
			if n, err := p.Write([]byte(part)); err != nil || n != len(part) {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("cut by %d: %q", size, out.String())
		}
	}
}
