package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// upload is the state of one ingest. Its methods may be called concurrently.
type upload struct {
	app    *app
	client *client.Client
	flags  *ingestFlags
	inputs []input
	marks  *marks
	bar    *progress

	mu        sync.Mutex
	tally     varve.Tally
	conflicts int64 // of the rejected
	before    int64 // readings that an earlier run has sent
	shown     int   // rejections that were printed
	rejects   *os.File
	unkept    error // the first rejection that could not be written to the file
}

// rejection is a line of the file of rejections.
type rejection struct {
	File    string `json:"file"`
	Index   int64  `json:"index"`
	Line    int64  `json:"line,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Reading string `json:"reading,omitempty"` // as it stands in the file
	// Stored is the fields that are stored, of a conflict.
	Stored json.RawMessage `json:"stored,omitempty"`
}

// maxShown is how many rejections are printed.
const maxShown = 5

func newUpload(a *app, c *client.Client, f *ingestFlags, inputs []input) (*upload, error) {
	u := &upload{app: a, client: c, flags: f, inputs: inputs}
	var err error
	if u.marks, err = openMarks(f.checkpoint); err != nil {
		return nil, err
	}
	if f.rejects != "" {
		if u.rejects, err = os.Create(f.rejects); err != nil {
			return nil, plainPath(err)
		}
	}
	total := int64(0)
	for _, in := range inputs {
		total += in.size
	}
	u.bar = newProgress(a, total, a.terminal && !f.quiet && a.output != "json")
	return u, nil
}

func (u *upload) close() error {
	if u.rejects == nil {
		return nil
	}
	return errors.Join(u.unkept, plainPath(u.rejects.Close()))
}

// skipped notes what need not be sent again.
func (u *upload) skipped(in *input, at wire.Place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.before += at.Readings
	u.bar.add(in.share(at.Offset))
}

// share is how far into the file on disk an offset is, about.
func (in *input) share(offset int64) int64 {
	if in.packed != "" {
		return 0
	}
	return offset
}

// say prints a line that is no rejection.
func (u *upload) say(line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bar.print(line)
}

func (u *upload) count(t varve.Tally, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tally.Add(t)
	u.bar.add(bytes)
}

// verdicts takes the answer to a piece, and returns the readings that are to be
// sent again, by their place in it.
func (u *upload) verdicts(in *input, p *wire.Piece, a wire.WriteAnswer, again bool) (later []int) {
	t := varve.Tally{Stored: a.Stored, Duplicates: a.Duplicates, Rejected: a.Rejected}
	for _, r := range a.Rejects {
		i := int(r.Index)
		if again && varve.Code(r.Code).Retryable() {
			later = append(later, i)
			t.Rejected--
			continue
		}
		rej := rejection{Code: r.Code, Message: r.Message, Stored: r.Stored}
		if i < p.Len() {
			rej.Index, rej.Line = p.Where(i)
			rej.Reading = string(p.Text(i))
		}
		u.reject(in, rej)
	}
	bytes := int64(0)
	if len(later) == 0 && in.packed == "" {
		bytes = int64(len(p.Data) - p.Begin)
	}
	u.count(t, bytes)
	return later
}

// reject prints the first rejections and writes all of them to the file.
func (u *upload) reject(in *input, r rejection) {
	r.File, r.Message = in.path, flagHints(r.Message)
	u.mu.Lock()
	defer u.mu.Unlock()
	if varve.Code(r.Code) == varve.CodeConflict {
		u.conflicts++
	}
	if u.shown < maxShown && u.app.output != "json" {
		place := r.File
		if r.Line > 0 {
			place = fmt.Sprintf("%s:%d", r.File, r.Line)
		}
		u.bar.print(fmt.Sprintf("%s: %s: %s", place, r.Code, r.Message))
	}
	if u.shown++; u.shown == maxShown+1 && u.app.output != "json" {
		hint := "--rejects FILE writes all of them to a file"
		if u.rejects != nil {
			hint = u.flags.rejects + " has all of them"
		}
		u.bar.print(fmt.Sprintf("… and more: %s", hint))
	}
	if u.rejects != nil {
		line, _ := json.Marshal(r) // a rejection is strings and numbers: it marshals
		if _, err := u.rejects.Write(append(line, '\n')); err != nil && u.unkept == nil {
			u.unkept = fmt.Errorf("not all rejections are in %w", plainPath(err))
		}
	}
}

// report says what became of everything.
func (u *upload) report(took time.Duration, failed error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.tally
	if u.app.output == "json" {
		return writeJSON(u.app.out, map[string]any{
			"read": t.Total(), "stored": t.Stored, "duplicates": t.Duplicates, "rejected": t.Rejected, "conflicts": u.conflicts,
			"before": u.before, "files": len(u.inputs), "seconds": took.Seconds(), "complete": failed == nil,
		})
	}
	line := fmt.Sprintf("%s read, %s stored, %s, %s rejected", thousands(t.Total()), thousands(t.Stored),
		count(int(t.Duplicates), "duplicate"), thousands(t.Rejected))
	if u.conflicts > 0 {
		line += fmt.Sprintf(" (%s)", count(int(u.conflicts), "conflict"))
	}
	if u.before > 0 {
		line += fmt.Sprintf(" (%s were sent by an earlier run)", thousands(u.before))
	}
	if secs := took.Seconds(); secs > 0.5 {
		line += fmt.Sprintf(" in %.1f s, %s/s", secs, thousands(int64(float64(t.Total())/secs)))
	}
	if _, err := fmt.Fprintln(u.app.out, line); err != nil {
		return err
	}
	if failed != nil && t.Total() > 0 && !isUsage(failed) {
		again := "Run it again to go on: what was sent is only a duplicate then"
		if u.flags.checkpoint != "" {
			again = "Run it again to go on where it stopped"
		}
		fmt.Fprintln(u.app.err, again+".")
	}
	return nil
}

var errCheckpoint = errors.New("is not a checkpoint of varve ingest")
