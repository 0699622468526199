package api_test

import (
	"net/http"
	"testing"
)

// TestIoT_RefusesArrivalAsTime checks that messages need a time. After an error, IoT Core resends a message,
// and the server does not know its first arrival. So a message without a time could be stored twice.
func TestIoT_RefusesArrivalAsTime(t *testing.T) {
	s := newAWSServer(t)
	r := s.send(http.MethodPost, "/v1/aws/iot/weather?time=arrival&device=d1", `{"fields":{"a":1}}`, "Content-Type", "application/json")
	r.problem(http.StatusBadRequest, "query.time", "timestamp() AS time")
	if n := s.stored(); n != 0 {
		t.Errorf("%d readings are stored, want 0", n)
	}
}
