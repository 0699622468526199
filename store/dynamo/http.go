package dynamo

import (
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// idleConnections is how many connections are kept open for the next requests:
// more than a call has under way. The SDK keeps 10, and opens and closes one for
// most requests when there are more at a time.
const idleConnections = 256

// answerWithin is how long a request may take to be answered until it is sent
// again: much longer than DynamoDB takes over one.
const answerWithin = 10 * time.Second

// HTTPClient returns a client for the SDK that suits many small requests at a
// time to one endpoint.
func HTTPClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 2*idleConnections, idleConnections
		t.ResponseHeaderTimeout = answerWithin
	})
}
