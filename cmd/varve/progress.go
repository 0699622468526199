package main

import (
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress is the bar on a terminal. Elsewhere it is only a place to print to.
type progress struct {
	out  io.Writer
	all  *mpb.Progress
	bar  *mpb.Bar
	done int64
}

func newProgress(a *app, total int64, show bool) *progress {
	p := &progress{out: a.err}
	if !show {
		return p
	}
	p.all = mpb.New(mpb.WithOutput(a.err), mpb.WithWidth(64))
	p.bar = p.all.AddBar(total,
		mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(decor.CountersKibiByte("% .1f / % .1f"), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO)))
	return p
}

// add moves the bar on by bytes. The caller serializes calls.
func (p *progress) add(bytes int64) {
	if p.bar != nil {
		p.done += bytes
		p.bar.IncrInt64(bytes)
	}
}

// print prints a line above the bar.
func (p *progress) print(line string) {
	if p.all != nil {
		// Without the bar there is nothing to print above.
		_, _ = p.all.Write([]byte(line))
		return
	}
	fmt.Fprint(p.out, line)
}

// end takes the bar down.
func (p *progress) end() {
	if p.all == nil {
		return
	}
	p.bar.SetTotal(p.done, true)
	p.all.Wait()
}
