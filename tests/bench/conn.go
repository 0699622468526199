package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// conn is a minimal HTTP/1.1 client on one connection. It uses little processor time, so that it
// hardly affects the figures.
type conn struct {
	c    net.Conn
	r    *bufio.Reader
	head []byte
	body []byte
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

func (c *conn) close() { _ = c.c.Close() }

// post sends a body of readings and returns the body of the answer.
func (c *conn) post(contentType string, body []byte) ([]byte, error) {
	return c.postTo(path, contentType, body)
}

func (c *conn) postTo(path, contentType string, body []byte) ([]byte, error) {
	c.head = fmt.Appendf(c.head[:0], "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, contentType, len(body))
	if len(body) < 4<<10 {
		c.head = append(c.head, body...)
		if _, err := c.c.Write(c.head); err != nil {
			return nil, err
		}
	} else {
		bufs := net.Buffers{c.head, body}
		if _, err := bufs.WriteTo(c.c); err != nil {
			return nil, err
		}
	}
	return c.answer()
}

func (c *conn) get(path string) ([]byte, error) {
	c.head = fmt.Appendf(c.head[:0], "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path)
	if _, err := c.c.Write(c.head); err != nil {
		return nil, err
	}
	return c.answer()
}

// answer reads an answer. Statuses other than 200 and 204 are errors.
func (c *conn) answer() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	isEmpty := bytes.HasPrefix(line, []byte("HTTP/1.1 204"))
	ok := isEmpty || bytes.HasPrefix(line, []byte("HTTP/1.1 200"))
	status := string(bytes.TrimSpace(line))
	length, chunked := -1, false
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
	c.body = c.body[:0]
	switch {
	case isEmpty:
	case chunked:
		err = c.chunks()
	case length >= 0:
		err = c.read(length)
	default:
		err = errors.New("an answer without a length")
	}
	if err == nil && !ok {
		err = fmt.Errorf("%s: %s", status, c.body)
	}
	return c.body, err
}

func (c *conn) read(n int) error {
	at := len(c.body)
	if cap(c.body) < at+n {
		c.body = append(make([]byte, 0, 2*(at+n)), c.body...)
	}
	c.body = c.body[:at+n]
	_, err := io.ReadFull(c.r, c.body[at:])
	return err
}

func (c *conn) chunks() error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := c.read(int(n)); err != nil {
			return err
		}
		if _, err := c.r.Discard(2); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}
