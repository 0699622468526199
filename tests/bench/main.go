// Command bench measures the service under realistic conditions. Most parts run the real binary on
// the embedded store, and call it over HTTP on loopback. The client runs on the same processors.
// Run it with make bench.
//
// The workload has 1,000 devices that report temperature, humidity and battery every minute for a
// day (1,440,000 readings). Then each of 20 devices uploads the 43,200 readings of 30 days. Queries
// for many devices use the 1,000 devices, and 100,000 devices with two readings each.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	binary := flag.String("varve", "bin/varve", "the `binary` to measure")
	only := flag.String("only", "", "only this `part`: ndjson, csv, single, disk, query, fleet, backup, load, lanes, archive, export, drop, rollups, cores, agent, beside, promql, mqtt, dynamodb, scale; growth and scale-live, …, run alone")
	days := flag.Int("days", 70, "growth: the number of `days` of 1,440,000 readings")
	rounds := flag.Int("rounds", 3, "how often each part is measured; medians are printed")
	dir := flag.String("dir", "", "work in this `folder`, and leave the data there")
	flag.Parse()
	if err := runParts(*binary, *only, *dir, *rounds, *days); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
