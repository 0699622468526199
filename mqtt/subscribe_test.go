package mqtt_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	v5 "github.com/eclipse/paho.golang/paho"
)

// TestListener_LimitsSubscriptions subscribes to long filters and to many filters. The server must refuse
// filters beyond its limits, and continue to serve the device.
func TestListener_LimitsSubscriptions(t *testing.T) {
	w := newWorld(t, 10)
	d, _ := connect(t, w.listen(t), "c1", "", "")
	subscribe := func(filters ...string) []byte {
		t.Helper()
		packet := &v5.Subscribe{}
		for _, f := range filters {
			packet.Subscriptions = append(packet.Subscriptions, v5.SubscribeOptions{Topic: f})
		}
		answer, err := d.Subscribe(t.Context(), packet)
		if answer == nil {
			t.Fatal(err)
		}
		return answer.Reasons
	}
	if got, want := subscribe(strings.Repeat("/", 15), strings.Repeat("/", 16), strings.Repeat("a", 1024), strings.Repeat("a", 1025), strings.Repeat("/", 10_000)),
		[]byte{0, 0x8f, 0, 0x8f, 0x8f}; !bytes.Equal(got, want) {
		t.Errorf("the answers to long filters are %#x, want %#x", got, want)
	}
	var many []string
	for i := range 99 {
		many = append(many, strconv.Itoa(i))
	}
	want := append(make([]byte, 98), 0x8f) // with the two filters before, 98 make 100
	if got := subscribe(many...); !bytes.Equal(got, want) {
		t.Errorf("the answers to many filters are %#x, want %#x", got, want)
	}
	if got := subscribe("0", "another"); !bytes.Equal(got, []byte{0, 0x8f}) {
		t.Errorf("the answers to an existing and another filter are %#x, want 0 and 0x8f", got)
	}
	if answer := d.publish(t, "varve/w/d1", reading(1)); answer == nil || answer.ReasonCode != 0 {
		t.Errorf("a message was answered with %+v, want 0", answer)
	}
}
