package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/varvedb/varve/api/wire"
)

// CreateKey creates an API key. Only the answer to this call contains the key. The call is never
// retried, because the key may exist already if the answer is lost.
func (c OperatorCalls) CreateKey(ctx context.Context, d wire.KeyDraft) (wire.NewKey, error) {
	once := *c.connection
	once.retries = 0
	return getJSON[wire.NewKey](ctx, &once, request{
		method: http.MethodPost, path: "/v1/keys", header: http.Header{"Content-Type": {"application/json"}},
		body: func() (io.Reader, error) {
			body, err := json.Marshal(d)
			return bytes.NewReader(body), err
		},
	})
}

// Keys lists the API keys that the client's own key may manage.
func (c OperatorCalls) Keys(ctx context.Context) (wire.KeyList, error) {
	return getJSON[wire.KeyList](ctx, c.connection, request{method: http.MethodGet, path: "/v1/keys"})
}

// Grant returns the tenant and the rights of the client's own key.
func (c *Client) Grant(ctx context.Context) (wire.GrantBody, error) {
	return getJSON[wire.GrantBody](ctx, c.ReadingCalls.connection, request{method: http.MethodGet, path: "/v1/grant"})
}

// MQTT returns the state of the door for MQTT.
func (c OperatorCalls) MQTT(ctx context.Context) (wire.MQTTBody, error) {
	return getJSON[wire.MQTTBody](ctx, c.connection, request{method: http.MethodGet, path: "/v1/mqtt"})
}

// Settings lists the settings of the server.
func (c OperatorCalls) Settings(ctx context.Context) (wire.SettingList, error) {
	return getJSON[wire.SettingList](ctx, c.connection, request{method: http.MethodGet, path: "/v1/settings"})
}

// RevokeKey revokes the API key with an id.
func (c OperatorCalls) RevokeKey(ctx context.Context, id string) (wire.KeyInfo, error) {
	return getJSON[wire.KeyInfo](ctx, c.connection, request{method: http.MethodDelete, path: "/v1/keys/" + segment(id)})
}
