package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store/dynamo/client"
)

type countedConn struct {
	net.Conn

	writes *atomic.Int64
}

func (c countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// TestClient_SendsRequestInOneWrite checks that the header and the body of a request are sent in one
// write, and that the server receives the whole body.
func TestClient_SendsRequestInOneWrite(t *testing.T) {
	const want = `{"Item":{"series":{"S":"a"}},"TableName":"readings"}`
	var bodies atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err != nil || string(text) != want {
			t.Errorf("body %s, %v, want %s", text, err, want)
		}
		bodies.Add(1)
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	var writes atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return countedConn{c, &writes}, err
	}}
	defer transport.CloseIdleConnections()
	c := client.New(dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(server.URL), Region: "eu-central-1", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), DisableValidateResponseChecksum: true,
	}), "registry", nil)
	for range 3 {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String("readings"), Item: map[string]types.AttributeValue{"series": &types.AttributeValueMemberS{Value: "a"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if w, n := writes.Load(), bodies.Load(); w != n || n != 3 {
		t.Errorf("%d requests in %d writes, want 3 in 3", n, w)
	}
}
