package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// agentDrain is the longest time in which an agent must send all readings.
const agentDrain = 5 * time.Minute

// agent measures an agent that is limited to one processor. The agent accepts the backlogs of all
// uploads, and sends readings to the server at the same time.
func (b *bench) agent() error {
	var late [][]byte
	for i := range uploads {
		late = append(late, backlog(ndjson, "", i, b.end)...)
	}
	var accepted, perCore, memory []float64
	for range b.rounds {
		rate, core, peak, err := b.agentRound(late)
		if err != nil {
			return err
		}
		accepted, perCore, memory = append(accepted, rate), append(perCore, core), append(memory, peak)
	}
	b.out.median("agent: readings accepted, one processor", accepted, "readings/s")
	b.out.median("agent: accepted and sent, per second of its processor", perCore, "readings/s")
	b.out.median("agent: memory at its peak", memory, "MiB")
	return nil
}

func (b *bench) agentRound(late [][]byte) (rate, perCore, peak float64, err error) {
	dir, box := b.folder("agent-server"), b.folder("agent-outbox")
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(box)); err != nil {
		return 0, 0, 0, err
	}
	s, err := start(b.binary, dir)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	a, err := startProgram(box, "/readyz", []string{"GOMAXPROCS=1"}, func(addr string) *exec.Cmd {
		return exec.Command(filepath.Join(filepath.Dir(b.binary), "varve-agent"), "--listen", addr, "--server", "http://"+s.addr, "--dir", box, "--log-level", "error")
	})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, a.stop()) }()
	before := a.cpu()
	took, err := send(a.addr, "application/x-ndjson", late, 4)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := a.drained(); err != nil {
		return 0, 0, 0, err
	}
	_, mib, err := a.memory()
	return upTotal / took.Seconds(), upTotal / (a.cpu() - before).Seconds(), float64(mib), err
}

// drained waits until an agent has sent all readings.
func (s *server) drained() error {
	c, err := dial(s.addr)
	if err != nil {
		return err
	}
	defer c.close()
	for end := time.Now().Add(agentDrain); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, err := c.get("/healthz")
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(`"outbox":{"readings":0,`)) {
			return nil
		}
	}
	return fmt.Errorf("the agent at %s has not sent all readings within %s", s.addr, agentDrain)
}
