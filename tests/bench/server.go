package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a running process of Varve, or of another program that is measured.
type server struct {
	cmd  *exec.Cmd
	addr string
	dir  string
}

func start(binary, dir string, more ...string) (*server, error) {
	return startProgram(dir, "/readyz", nil, func(addr string) *exec.Cmd {
		return exec.Command(binary, append([]string{"serve", "--listen", addr, "--data", dir, "--log-level", "error"}, more...)...)
	})
}

// startProgram starts a server with additional environment variables, and waits until it answers a
// request for the path in the argument "ready".
func startProgram(dir, ready string, env []string, command func(addr string) *exec.Cmd) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	s := &server{cmd: command(addr), addr: addr, dir: dir}
	s.cmd.Stderr, s.cmd.Env = os.Stderr, append(os.Environ(), env...)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 200 {
		c, err := dial(addr)
		if err == nil {
			_, err = c.get(ready)
			c.close()
		}
		if err == nil {
			return s, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, errors.Join(fmt.Errorf("the server at %s is not ready after 4 s", addr), s.stop())
}

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// memory returns the current and the peak resident memory in MiB.
func (s *server) memory() (now, peak int, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		name, value, _ := strings.Cut(sc.Text(), ":")
		kib, _ := strconv.Atoi(strings.Fields(value + " 0")[0])
		switch name {
		case "VmRSS":
			now = kib >> 10
		case "VmHWM":
			peak = kib >> 10
		}
	}
	return now, peak, sc.Err()
}

// cpu returns the processor time that the server has used so far, or 0 if it is unknown.
func (s *server) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	sys, _ := strconv.Atoi(f[12])
	return time.Duration(user+sys) * 10 * time.Millisecond
}

// usage returns the disk space that the files of a folder occupy, in bytes.
func usage(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was removed meanwhile
		}
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += st.Blocks * 512
		}
		return nil
	})
	return bytes, err
}
