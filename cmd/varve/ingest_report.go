package main

import (
	"fmt"
	"time"

	"github.com/varvedb/varve/upload"
)

// maxShown is the largest number of rejections that are printed.
const maxShown = 5

type ingestReport struct {
	app           *app
	files         int
	bar           *progress
	rejects       *upload.RejectFile
	rejectPath    string // path of the file for rejections; "" if the user named none
	hasCheckpoint bool
	rejections    int  // number of rejections so far
	quiet         bool // if true, the result is printed only after a failure or a rejection
}

// events returns callbacks that print the events of an upload.
func (r *ingestReport) events() upload.Events {
	return upload.Events{
		Restarted: func(path, reason string) {
			r.bar.print(fmt.Sprintf("%s: sent from its beginning: %s", path, reason))
		},
		Unfinished: func(path string) {
			if !r.quiet {
				r.bar.print(path + ": the last line is not finished yet, and is left for the next run")
			}
		},
		Rejected: r.rejected,
		Progress: func(bytes int64) { r.bar.add(bytes) },
	}
}

// rejected prints the first maxShown rejections, unless the output is JSON. It writes all of them to the
// file of rejections.
func (r *ingestReport) rejected(rej upload.Rejection) {
	rej.Message = flagHints(rej.Message)
	r.rejections++
	r.rejects.Write(&rej)
	if r.app.output == "json" || r.rejections > maxShown+1 {
		return
	}
	if r.rejections == maxShown+1 {
		hint := "--rejects FILE writes all of them to a file"
		if r.rejectPath != "" {
			hint = r.rejectPath + " has all of them"
		}
		r.bar.print(fmt.Sprintf("… and more: %s", hint))
		return
	}
	place := rej.File
	if rej.Line > 0 {
		place = fmt.Sprintf("%s:%d", rej.File, rej.Line)
	}
	r.bar.print(fmt.Sprintf("%s: %s: %s", place, rej.Code, rej.Message))
}

// summarize prints the result of an upload, and how to resume it if it failed.
func (r *ingestReport) summarize(u *upload.Result, took time.Duration, failed error) error {
	if r.app.output == "json" {
		values := map[string]any{
			"read": u.Total(), "stored": u.Stored, "duplicates": u.Duplicates, "rejected": u.Rejected, "conflicts": u.Conflicts, "skipped_cells": u.SkippedCells, "text_numbers": u.TextNumbers,
			"before": u.Resumed, "present": u.Present, "expired_periods": u.ExpiredPeriods, "files": r.files, "seconds": took.Seconds(), "complete": failed == nil,
		}
		if u.Queued > 0 {
			values["queued"] = u.Queued
		}
		return writeJSON(r.app.out, values)
	}
	line := fmt.Sprintf("%s read, %s stored, %s, %s rejected", thousands(u.Total()), thousands(u.Stored),
		count(int(u.Duplicates), "duplicate"), thousands(u.Rejected))
	if u.Queued > 0 {
		line += fmt.Sprintf(", %s queued by an agent", thousands(u.Queued))
	}
	if u.Conflicts > 0 {
		line += fmt.Sprintf(" (%s)", count(int(u.Conflicts), "conflict"))
	}
	if u.SkippedCells > 0 {
		line += fmt.Sprintf(" (%s skipped)", count(int(u.SkippedCells), "bad cell"))
	}
	if u.TextNumbers > 0 {
		line += fmt.Sprintf(" (%s like numbers, stored as text: see --decimal and --types)", count(int(u.TextNumbers), "cell"))
	}
	line += presentText(u)
	if u.Resumed > 0 {
		line += fmt.Sprintf(" (%s were sent by an earlier run)", thousands(u.Resumed))
	}
	if secs := took.Seconds(); secs > 0.5 {
		line += fmt.Sprintf(" in %.1f s, %s/s", secs, thousands(int64(float64(u.Total())/secs)))
	}
	if !r.quiet || failed != nil || u.Rejected > 0 {
		if _, err := fmt.Fprintln(r.app.out, line); err != nil {
			return err
		}
	}
	if failed != nil && u.Total() > 0 && !isUsage(failed) {
		remedy := "Run it again: readings that were sent become duplicates"
		if r.hasCheckpoint {
			remedy = "Run it again: it resumes where it stopped"
		}
		fmt.Fprintln(r.app.err, remedy+".")
	}
	return nil
}

// presentText describes the readings that a reconciliation did not send, and the periods that it left out.
func presentText(u *upload.Result) (text string) {
	if u.Present > 0 {
		text = fmt.Sprintf(" (%s were not sent: the store has them)", thousands(u.Present))
	}
	if u.ExpiredPeriods > 0 {
		text += fmt.Sprintf(" (%s of days or hours may have expired or were erased, and were not sent)", count(int(u.ExpiredPeriods), "period"))
	}
	return text
}
