// Command bench measures the service as a user meets it: the real binary, on
// the embedded store, over HTTP on loopback, with the client on the same
// processors. Run it with make bench.
//
// The workload: 1,000 devices that report temperature, humidity and battery a
// minute for a day (1,440,000 readings); then 20 devices that each upload 30
// days (43,200 readings) at once. What is asked about a fleet is asked about
// those 1,000, and about 100,000 devices with two readings each.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	binary := flag.String("varve", "bin/varve", "the `binary` to measure")
	only := flag.String("only", "", "only this `part`: ndjson, csv, single, disk, query, fleet, load, lanes, drop, rollups, dynamodb")
	rounds := flag.Int("rounds", 3, "how often each part is measured; medians are printed")
	keep := flag.String("keep", "", "work in this `folder`, and leave the data there")
	flag.Parse()
	if err := run(*binary, *only, *keep, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
