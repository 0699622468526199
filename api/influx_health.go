package api

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
)

// addHealth adds the routes with which clients of InfluxDB check the server.
func (h *influxHandler) addHealth(o *operations) {
	add := func(path, id, summary string, handle http.HandlerFunc, responses map[string]*huma.Response) {
		responses["default"] = &huma.Response{Description: "An error in the form of InfluxDB", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}
		o.raw(http.MethodGet, path, handle, &huma.Operation{OperationID: id, Summary: summary, Tags: []string{"line protocol"}, Responses: responses})
	}
	ping := map[string]*huma.Response{
		"200": {Description: "With verbose=true: the version", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}},
		"204": {Description: "The process is running"},
	}
	add("/ping", "ping-influx", "Whether the process is running, as InfluxDB answers", h.ping, ping)
	o.api.OpenAPI().Paths["/ping"].Get.Parameters = queryParams("verbose", "true: the answer has a body with the version")
	health := o.responses(reflect.TypeFor[wire.InfluxHealth](), "200", "503")
	health["200"].Description, health["503"].Description = "Readings can be stored", "Readings cannot be stored, for the reason in message"
	add("/health", "get-influx-health", "Whether readings can be stored, as InfluxDB answers", h.health, health)
	for path, id := range map[string]string{"/ready": "get-influx-readiness", "/api/v2/ready": "get-influx-v2-readiness"} {
		ready := o.responses(reflect.TypeFor[wire.InfluxReady](), "200")
		ready["200"].Description = "Readings can be stored"
		ready["503"] = &huma.Response{Description: "Readings cannot be stored", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}
		add(path, id, "Since when readings can be stored, as InfluxDB answers", h.ready, ready)
	}
}
