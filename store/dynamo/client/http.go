package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// idleConnections is the largest number of connections to one host that stay open between requests.
// With only 10, the default of the SDK, most concurrent requests would open a new connection.
const idleConnections = 256

// answerWithin limits the time until an answer begins. After this time, the request is retried.
// DynamoDB needs much less time.
const answerWithin = 10 * time.Second

// NewHTTP returns an HTTP client for many small, concurrent requests to one endpoint.
func NewHTTP() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 2*idleConnections, idleConnections
		t.ResponseHeaderTimeout = answerWithin
	})
}

// shortBody is the largest length in bytes of a request body that is sent together with its header.
const shortBody = 64 << 10

// bufferBody reads a short body into memory, so that it is sent together with the header. The
// transport recognizes the type of the new body and knows that it is complete. With the body of the
// SDK, it would send the header alone first, which costs a system call, a packet and an encrypted
// TLS record.
func bufferBody(req *http.Request) error {
	if req.Body == nil || req.ContentLength <= 0 || req.ContentLength > shortBody {
		return nil
	}
	text := make([]byte, req.ContentLength)
	_, err := io.ReadFull(req.Body, text)
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}
