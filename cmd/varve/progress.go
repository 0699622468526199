package main

import (
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress is the progress bar on a terminal. Without a terminal, it only prints lines.
type progress struct {
	out   io.Writer
	all   *mpb.Progress
	bar   *mpb.Bar
	total int64 // number of bytes to send; 0 means unknown
}

func newProgress(a *app, total int64, show bool) *progress {
	p := &progress{out: a.err, total: total}
	if !show {
		return p
	}
	p.all = mpb.New(mpb.WithOutput(a.console), mpb.WithWidth(64))
	p.bar = p.all.AddBar(total,
		mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(decor.CountersKibiByte("% .1f / % .1f"), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO)))
	return p
}

// add advances the bar by a number of bytes. The caller serializes calls.
func (p *progress) add(bytes int64) {
	if p.bar != nil {
		p.bar.IncrInt64(bytes)
	}
}

// print prints a line above the bar.
func (p *progress) print(line string) {
	line = printable(line) + "\n"
	if p.all != nil {
		// Ignore the error: after the end of the bar, Write fails, and the line is discarded.
		_, _ = p.all.Write([]byte(line))
		return
	}
	fmt.Fprint(p.out, line)
}

// end stops the bar. If the work is complete, it fills the bar first, because an upload does not count
// parts of files without readings, such as headers.
func (p *progress) end(complete bool) {
	if p.all == nil {
		return
	}
	if complete {
		p.bar.SetCurrent(p.total)
		p.bar.SetTotal(-1, true) // completes a bar without a total, which no number of bytes completes
	}
	p.bar.Abort(false)
	p.all.Wait()
}
