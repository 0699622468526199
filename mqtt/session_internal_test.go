package mqtt

import (
	"testing"

	"github.com/mochi-mqtt/server/v2/packets"
)

// TestHook_LimitsSessionsOnDisconnect checks that a DISCONNECT cannot extend a session beyond the limit.
func TestHook_LimitsSessionsOnDisconnect(t *testing.T) {
	for seconds, want := range map[uint32]uint32{0: 0, 10: 10, 1<<32 - 1: sessionSeconds} {
		pk := packets.Packet{
			FixedHeader: packets.FixedHeader{Type: packets.Disconnect},
			Properties:  packets.Properties{SessionExpiryInterval: seconds, SessionExpiryIntervalFlag: true},
		}
		got, err := new(hook).OnPacketRead(nil, pk)
		if err != nil || got.Properties.SessionExpiryInterval != want {
			t.Errorf("%d s: the session ends after %d s, %v, want %d s", seconds, got.Properties.SessionExpiryInterval, err, want)
		}
	}
}
