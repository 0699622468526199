package s3

import (
	"context"
	"net"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// stallLimit is the default of Options.Stall.
const stallLimit = 20 * time.Second

// httpClient returns a client whose connections fail if they transfer no byte for the given time. The defaults of the
// SDK have no such limit, so a request to a service that never answers would last until its context ends.
func httpClient(limit time.Duration) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &stallConn{conn, limit}, nil
		}
	})
}

// stallConn is a connection with a deadline that each read and each write extends. The deadline applies to both, because
// the client waits for an answer while it still sends a long body.
type stallConn struct {
	net.Conn
	limit time.Duration
}

func (c *stallConn) Read(p []byte) (int, error) {
	if err := c.extend(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *stallConn) Write(p []byte) (int, error) {
	if err := c.extend(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *stallConn) extend() error { return c.SetDeadline(time.Now().Add(c.limit)) }
