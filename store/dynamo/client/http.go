package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// idleConnections is the number of connections that stay open between requests. With the
// 10 of the SDK, most concurrent requests would open a connection.
const idleConnections = 256

// answerWithin is the time limit of an answer, after which the request is retried. DynamoDB needs
// much less.
const answerWithin = 10 * time.Second

// NewHTTP returns an HTTP client for many small, concurrent requests to one endpoint.
func NewHTTP() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 2*idleConnections, idleConnections
		t.ResponseHeaderTimeout = answerWithin
	})
}

// shortBody is the length up to which a request is sent in one piece.
const shortBody = 64 << 10

// bufferBody reads a short body into memory, so that the request is sent in one piece. The
// transport knows from its type that the body is complete. For the body of the SDK, it would
// send the header alone, at the cost of a system call, a packet and an encrypted record.
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
