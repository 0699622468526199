package mqtt

import (
	"strings"

	server "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// Limits of subscriptions. The library's index takes time and memory that grow with the square of the
// levels, and all connections share the index.
const (
	maxFilterLevels  = 16
	maxFilterBytes   = 1 << 10
	maxSubscriptions = 100 // of a device
)

// OnSubscribe refuses filters beyond the limits. It empties them, and the server answers an empty filter
// with the code for an invalid filter.
func (h *hook) OnSubscribe(cl *server.Client, pk packets.Packet) packets.Packet {
	count := cl.State.Subscriptions.Len()
	for i := range pk.Filters {
		filter := &pk.Filters[i].Filter
		_, exists := cl.State.Subscriptions.Get(*filter)
		switch {
		case exists:
		case len(*filter) > maxFilterBytes, strings.Count(*filter, "/") >= maxFilterLevels, count >= maxSubscriptions:
			*filter = ""
		default:
			count++
		}
	}
	return pk
}
