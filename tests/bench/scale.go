package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

// Loads of the part scale. They are short, because the stand-in for DynamoDB, tests/dynamosim, has all
// data in memory.
const (
	scaleConns  = 96
	scaleFor    = 8 * time.Second
	scaleWarmUp = 3 * time.Second
	splitAfter  = 5 * time.Second // time until a hot partition is split; capacity.Amazon assumes a minute
	warmWrites  = 16000           // warm throughput of each table in write units per second, raised before a load
)

// standIn is a process of the stand-in for DynamoDB.
type standIn struct {
	process *server // the process, whose processor time and memory are measured
	url     string
}

// onStandIn measures the store on the stand-in for DynamoDB.
type onStandIn struct{ *bench }

// runPart measures the store on DynamoDB at rates that emulators do not reach. It uses the stand-in of
// tests/dynamosim, with a latency of 4 to 8 ms and Amazon's throttling.
func (b onStandIn) runPart(parts ...scalePart) (err error) {
	sim, err := b.startStandIn()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sim.process.stop()) }()
	for _, p := range parts {
		if err := p.run(b, sim); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	_, peak, err := sim.process.memory()
	b.out.line("stand-in: memory at its peak", float64(peak), "MiB")
	return err
}

// scalePart is a section of the part scale.
type scalePart struct {
	name string
	run  func(onStandIn, *standIn) error
}

func scaleParts() []scalePart {
	return []scalePart{
		{"scale-bare", onStandIn.scaleBare}, {"scale-live", onStandIn.scaleLive}, {"scale-upload", onStandIn.scaleUpload},
		{"scale-hot", onStandIn.scaleHot}, {"scale-processes", onStandIn.scaleProcesses},
	}
}

func (b onStandIn) startStandIn() (*standIn, error) {
	binary := filepath.Join(b.dir, "dynamosim")
	build := exec.Command("go", "build", "-o", binary, "./tests/dynamosim/cmd")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build the stand-in: %w", err)
	}
	cmd := exec.Command(binary, "-split-after", splitAfter.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	sim := &standIn{process: &server{cmd: cmd}, url: strings.TrimSpace(line)}
	if err != nil {
		return nil, errors.Join(err, sim.process.stop())
	}
	return sim, nil
}

// usage returns the usage of all tables of the stand-in, and the sums over the tables whose names have a
// prefix.
func (s *standIn) usage(prefix string) (all dynamosim.Usage, own dynamosim.TableUsage, err error) {
	resp, err := http.Get(s.url)
	if err != nil {
		return all, own, err
	}
	err = errors.Join(json.NewDecoder(resp.Body).Decode(&all), resp.Body.Close())
	for _, t := range all.Tables {
		if strings.HasPrefix(t.Name, prefix) {
			own.ReadUnits += t.ReadUnits
			own.WriteUnits += t.WriteUnits
			own.Items += t.Items
			own.Bytes += t.Bytes
			own.Splits += t.Splits
			own.ThrottledHottest += t.ThrottledHottest
			own.ThrottledOthers += t.ThrottledOthers
		}
	}
	return all, own, err
}

// serveOn starts n processes of the service on the stand-in. They share tables, whose names have the
// prefix.
func (b onStandIn) serveOn(sim *standIn, prefix string, n int, more ...string) (servers []*server, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, stopAll(servers))
		}
	}()
	for range n {
		args := []string{"--set", "store.kind=dynamodb", "--set", "store.endpoint=" + sim.url, "--set", "tables.prefix=" + prefix}
		for _, m := range more {
			args = append(args, "--set", m)
		}
		s, err := start(b.binary, b.folder(prefix), args...)
		if err != nil {
			return servers, err
		}
		servers = append(servers, s)
	}
	return servers, sim.warm(prefix)
}

func stopAll(servers []*server) (err error) {
	for _, s := range servers {
		err = errors.Join(err, s.stop())
	}
	return err
}

// warm raises the warm throughput of all tables with a prefix, as an operator does before a
// high load. A new on-demand table serves 4,000 write units a second.
func (s *standIn) warm(prefix string) error {
	c := dynamotest.Client(s.url)
	in := &dynamodb.ListTablesInput{}
	for {
		out, err := c.ListTables(context.Background(), in)
		if err != nil {
			return err
		}
		for _, name := range out.TableNames {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if _, err := c.UpdateTable(context.Background(), &dynamodb.UpdateTableInput{
				TableName:      aws.String(name),
				WarmThroughput: &types.WarmThroughput{ReadUnitsPerSecond: aws.Int64(3 * warmWrites), WriteUnitsPerSecond: aws.Int64(warmWrites)},
			}); err != nil {
				return err
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			return nil
		}
	}
}

func cpuOf(servers []*server) (sum time.Duration) {
	for _, s := range servers {
		sum += s.cpu()
	}
	return sum
}

// machineIdle returns a function that returns the share of time in which the processors were idle
// since its last call.
func machineIdle() func() float64 {
	read := func() (idle, all float64) {
		data, err := os.ReadFile("/proc/stat")
		if err != nil {
			return 0, 0
		}
		line, _, _ := strings.Cut(string(data), "\n")
		for i, text := range strings.Fields(line)[1:] {
			var n float64
			if _, err := fmt.Sscan(text, &n); err != nil {
				return 0, 0
			}
			if all += n; i == 3 {
				idle = n
			}
		}
		return idle, all
	}
	idle, all := read()
	return func() float64 {
		i, a := read()
		share := (i - idle) / max(a-all, 1)
		idle, all = i, a
		return share
	}
}
