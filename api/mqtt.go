package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
)

// mqttHandler serves the state of the door for MQTT, which package mqtt implements.
type mqttHandler struct {
	status func() wire.MQTTBody // if nil, the door is closed
}

func (h *mqttHandler) addRoutes(o *operations) {
	huma.Register(o.api, huma.Operation{
		OperationID: "mqtt-status", Method: http.MethodGet, Path: "/v1/mqtt", Summary: "The state of the client and the listener of MQTT", Tags: []string{"operation"},
		Description: "With the number of messages that the broker dropped, if the broker reports it. Both members are missing if MQTT is not configured.",
	}, h.getStatus)
}

func (h *mqttHandler) getStatus(context.Context, *struct{}) (*reply[wire.MQTTBody], error) {
	a := new(reply[wire.MQTTBody])
	if h.status != nil {
		a.Body = h.status()
	}
	return a, nil
}
