package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineReader passes the messages of a host to the MCP SDK. The SDK would end at the first line that
// is not a message. lineReader answers such a line with an error of JSON-RPC, and continues with
// the next line.
type lineReader struct {
	in   *bufio.Reader
	out  io.Writer // must be safe for concurrent use, because the SDK also writes to out
	rest []byte    // bytes of the last message that Read has not returned
}

// Read implements io.Reader.
func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.readLine()
		if err != nil && !errors.Is(err, errLongLine) {
			return 0, err
		}
		code, cause := int64(jsonrpc.CodeParseError), err
		if cause == nil {
			code, cause = checkMessage(line)
		}
		if cause == nil {
			l.rest = line
		} else if err := l.refuse(code, cause); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes: send less at once", sdk.DefaultMaxLineLength)

// readLine returns the next line that is not empty, with a line break. If the line is too long, readLine
// skips it and returns errLongLine.
func (l *lineReader) readLine() ([]byte, error) {
	var line []byte
	for long := false; ; {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) >= sdk.DefaultMaxLineLength; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch {
		case long:
			return nil, errLongLine
		case len(bytes.TrimSpace(line)) > 0:
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			return append(bytes.TrimSpace(line), '\n'), nil
		case err != nil:
			return nil, err
		}
		line = line[:0]
	}
}

// checkMessage returns an error and its JSON-RPC code if a line is not a message. It accepts every array,
// because the SDK checks batches.
func checkMessage(line []byte) (code int64, err error) {
	var text json.RawMessage
	if err := json.Unmarshal(line, &text); err != nil {
		return jsonrpc.CodeParseError, fmt.Errorf("the line is not JSON: %w: send one message a line", err)
	}
	if line[0] == '[' {
		return 0, nil
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return jsonrpc.CodeInvalidRequest, fmt.Errorf("the line is not a message of JSON-RPC 2.0: %w", err)
	}
	return 0, nil
}

// refuse sends an error without an id, because the id of the message is unknown.
func (l *lineReader) refuse(code int64, cause error) error {
	type failure struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	answer, err := json.Marshal(struct {
		Version string  `json:"jsonrpc"`
		ID      *string `json:"id"`
		Error   failure `json:"error"`
	}{"2.0", nil, failure{code, cause.Error()}})
	if err == nil {
		_, err = l.out.Write(append(answer, '\n'))
	}
	return err
}

type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
