package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/varvedb/varve/api/client"
)

// Options configure a Server.
type Options struct {
	// Client calls the server whose data the tools return. It must be read-only.
	Client *client.Client
	// Version is the version of the program.
	Version string
	// Timeout limits the time of a call of a tool. 0 means no limit.
	Timeout time.Duration
}

// Server answers the tool calls of a host.
type Server struct {
	client  *client.Client
	timeout time.Duration
	sdk     *sdk.Server
}

const instructions = "Varve stores readings of devices. A stream is a kind of readings, such as weather. " +
	"A device has a name and sends readings to streams. A reading has an event time, an id and fields. " +
	"Begin with the tools streams and devices to learn the names. " +
	"For long windows call aggregate, not query. All tools only read. Times are UTC unless a timezone is given."

// New returns a server with all tools.
func New(o Options) (*Server, error) {
	if o.Client == nil || !o.Client.IsReadOnly() {
		return nil, errors.New("mcp: the client can change data: create it with client.ReadOnly")
	}
	s := &Server{client: o.Client, timeout: o.Timeout}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "varve", Title: "Varve", Version: o.Version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: &sdk.ServerCapabilities{}})
	for _, add := range []func(*Server) error{addDirectory, addReadings, addAggregate, addLateness, addWhy, addAlerts, addPlan} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Serve answers the messages of one host until the input ends, or until ctx is done. It answers a line
// that is not a message with an error, and continues.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	out = &lockedWriter{out: out}
	lines := &lineReader{in: bufio.NewReader(in), out: out}
	err := s.sdk.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(lines), Writer: nopWriteCloser{out}})
	isEnd := ctx.Err() != nil || errors.Is(err, io.EOF) // the user or the host ended the session
	if err != nil && !isEnd {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
