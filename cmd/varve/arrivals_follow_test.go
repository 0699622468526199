package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// changePage is an answer with changes. If err is set, the answer is cut off after the text.
type changePage struct {
	text, next string
	err        error
}

// changesTransport sends pages by the cursors of the requests, one after another for each cursor. Without
// a page left for a cursor, it sends half a reading and then nothing.
type changesTransport map[string][]changePage

func (s changesTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	since := r.URL.Query().Get("since")
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Trailer: http.Header{}, Request: r}
	if len(s[since]) == 0 {
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"device":`), waitingBody{r.Context()}))
		return resp, nil
	}
	page := s[since][0]
	s[since] = s[since][1:]
	if page.err != nil && page.text == "" {
		return nil, page.err
	}
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(page.text), failingBody{page.err}))
	resp.Trailer.Set(wire.HeaderNext, page.next)
	resp.Trailer.Set(wire.HeaderSettled, time.Unix(0, 0).UTC().Format(time.RFC3339Nano))
	return resp, nil
}

type waitingBody struct{ ctx context.Context }

func (w waitingBody) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

type failingBody struct{ err error }

func (f failingBody) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

const (
	firstChange  = `{"device":"d1","time":"2026-01-01T00:00:00Z","id":"1","arrived":"2026-01-01T00:00:00Z","fields":{"v":1}}` + "\n"
	secondChange = `{"device":"d1","time":"2026-01-01T00:00:01Z","id":"2","arrived":"2026-01-01T00:00:01Z","fields":{"v":2}}` + "\n"
)

// TestArrivals_ContinueAfterOutage checks that --follow prints each reading once, although the server gave
// no answer for a time and cut an answer off. Ctrl-C amid a page prints the cursor after the last complete
// page, and no part of the next one.
func TestArrivals_ContinueAfterOutage(t *testing.T) {
	refused := errors.New("connection refused")
	for _, output := range []string{"ndjson", "table"} {
		synctest.Test(t, func(t *testing.T) {
			noAnswer := make([]changePage, 20)
			for i := range noAnswer {
				noAnswer[i].err = refused
			}
			h := changesTransport{
				"":   {{text: firstChange, next: "c1"}},
				"c1": append(noAnswer, changePage{text: secondChange[:20], err: io.ErrUnexpectedEOF}, changePage{text: secondChange, next: "c2"}),
			}
			out, messages, err := followChanges(t, h, output)
			want := firstChange + secondChange
			if output == "table" {
				want = "ARRIVED               DEVICE  TIME                  FIELDS\n2026-01-01T00:00:00Z  d1      2026-01-01T00:00:00Z  v=1\n" +
					"2026-01-01T00:00:01Z  d1  2026-01-01T00:00:01Z  v=2\n"
			}
			if err != nil || out != want {
				t.Errorf("%s: error %v, output\n%s\nwant\n%s", output, err, out, want)
			}
			if strings.Count(messages, "Retrying: ") != 1 || !strings.HasSuffix(messages, "\nContinue with --since c2\n") {
				t.Errorf("%s: messages\n%s\nwant one about the outage, and the cursor c2", output, messages)
			}
		})
	}
}

// TestArrivals_PrintCursorAfterFailure checks that the cursor after the last complete page is printed if a
// later page fails for good. A first page that fails has no cursor, and is not retried.
func TestArrivals_PrintCursorAfterFailure(t *testing.T) {
	const damaged = `{"error":{"status":500,"detail":"block 7 is damaged","code":"damaged"}}` + "\n"
	for _, row := range []struct {
		name     string
		pages    changesTransport
		out, err string
		messages string
	}{
		{"damage", changesTransport{"": {{text: firstChange, next: "c1"}}, "c1": {{text: secondChange + damaged, next: "c2"}}},
			firstChange, "the answer is incomplete: block 7 is damaged", "Continue with --since c1\n"},
		{"no trailers", changesTransport{"": {{text: firstChange, next: "c1"}}, "c1": {{text: secondChange}}},
			firstChange, "it has no trailer", "Continue with --since c1\n"},
		{"first page", changesTransport{"": {{text: firstChange, err: io.ErrUnexpectedEOF}}},
			"", "the answer is incomplete: unexpected EOF", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out, messages, err := followChanges(t, row.pages, "ndjson")
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("error %v, want one with %q", err, row.err)
				}
				if out != row.out || messages != row.messages {
					t.Errorf("output\n%s\nmessages\n%s\nwant\n%s\nand\n%s", out, messages, row.out, row.messages)
				}
			})
		})
	}
}

// followChanges runs varve arrivals --follow for an hour, and then ends it as Ctrl-C does.
func followChanges(t *testing.T, h changesTransport, output string) (out, messages string, err error) {
	t.Helper()
	c, err := client.New(client.DefaultServer, client.WithHTTPClient(&http.Client{Transport: h}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var o, m bytes.Buffer
	a := arrivalCommands{queryCommands{&app{std: &std{out: &o, err: &m}, output: output}}}
	err = a.printChanges(ctx, c, client.ChangesQuery{Stream: "weather"}, true)
	return o.String(), m.String(), err
}
