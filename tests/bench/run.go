package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const path = "/v1/streams/bench/readings"

// bench is one run of all parts.
type bench struct {
	binary string
	dir    string
	rounds int
	days   int       // number of days that the part growth loads
	end    time.Time // time before which all readings of the functions day and backlog happen
	out    *report
}

func runParts(binary, only, dir string, rounds, days int) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "varve-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	b := &bench{binary: binary, dir: dir, rounds: rounds, days: days, end: time.Now().Truncate(24 * time.Hour), out: newReport()}
	fmt.Printf("%s, %d processors, %s, %s\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor(), runtime.Version())
	for _, part := range b.parts() {
		if only == "" && part.alone() || only != "" && only != part.name && !(part.name == "ndjson" && b.needsData(only)) {
			continue
		}
		if err := part.run(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

type part struct {
	name string
	run  func() error
}

// alone reports whether a full run omits the part. The part growth takes minutes. A part whose name
// has a hyphen is a section of the part scale, which a full run includes.
func (p *part) alone() bool { return p.name == "growth" || strings.Contains(p.name, "-") }

// parts returns all parts. A part whose name has a hyphen is a section of the part scale.
func (b *bench) parts() []part {
	list := []part{
		{"csv", b.csv}, {"single", b.single}, {"ndjson", b.ndjson}, {"query", b.query}, {"fleet", fleetPart{b}.runPart}, {"backup", func() error { return (&backupPart{bench: b}).runPart() }}, {"load", b.load}, {"lanes", lanesPart{b}.runPart},
		{"disk", b.disk}, {"archive", archivePart{b}.runPart}, {"export", b.export}, {"drop", b.drop}, {"rollups", rollupsPart{b}.runPart}, {"cores", b.cores}, {"agent", b.agent}, {"beside", b.beside}, {"promql", b.promql}, {"mqtt", mqttPart{b}.runPart}, {"dynamodb", b.dynamo}, {"scale", func() error { return onStandIn{b}.runPart(scaleParts()...) }},
		{"growth", growthPart{b}.runPart},
	}
	for _, p := range scaleParts() {
		list = append(list, part{p.name, func() error { return onStandIn{b}.runPart(p) }})
	}
	return list
}

// needsData reports whether a part needs the data that the part ndjson writes, and the data is
// missing.
func (b *bench) needsData(part string) bool {
	_, err := os.Stat(b.folder("ndjson"))
	return err != nil && slices.Contains([]string{"query", "fleet", "backup", "load", "disk", "archive", "export"}, part)
}

func (b *bench) folder(name string) string { return filepath.Join(b.dir, name) }
