package client

import (
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
