package mcp

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/client"
)

// hostOf is the host of a running server. It sends lines and reads answers.
type hostOf struct {
	t    *testing.T
	in   io.Writer
	read *json.Decoder
}

type answer struct {
	Version string `json:"jsonrpc"`
	ID      *int
	Error   struct {
		Code    int64
		Message string
	}
}

func (h *hostOf) ask(line string) (a answer) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\r\n"); err != nil {
		h.t.Fatal(err)
	}
	if err := h.read.Decode(&a); err != nil {
		h.t.Fatal(err)
	}
	return a
}

// accepts sends a request and checks that its answer has no error.
func (h *hostOf) accepts(line string, id int) {
	h.t.Helper()
	if a := h.ask(line); a.Version != "2.0" || a.ID == nil || *a.ID != id || a.Error.Code != 0 {
		h.t.Fatalf("%s: %+v", line, a)
	}
}

// TestServe_ContinuesAfterInvalidLine sends lines that are not messages between requests. Each line must
// get an error without an id, and all requests must be answered.
func TestServe_ContinuesAfterInvalidLine(t *testing.T) {
	c, err := client.New(client.DefaultServer, client.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	in, lines := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := s.Serve(t.Context(), in, out)
		served <- errors.Join(err, out.Close())
	}()
	h := &hostOf{t: t, in: lines, read: json.NewDecoder(answers)}
	h.accepts(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}`, 1)
	for line, want := range map[string]int64{
		"hello": -32700, `{"jsonrpc":`: -32700, "{}{}": -32700, "\n\n nul": -32700, "7": -32600, `{"id":3,"method":"ping"}`: -32600,
		`"` + strings.Repeat("x", 17<<20) + `"`: -32700,
	} {
		if a := h.ask(line); a.Version != "2.0" || a.ID != nil || a.Error.Code != want || !strings.Contains(a.Error.Message, "the line is") {
			t.Errorf("%.40q: %+v, want code %d", line, a, want)
		}
		h.accepts(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, 2)
	}
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
