package varvetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range of ports of FreeAddress. Operating systems take the ports of outgoing connections, and
// of addresses with port 0, from higher ranges.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// FreeAddress returns a free address of this machine, for a program that cannot choose its port
// itself.
//
// No other test can get this port for an outgoing connection, or by listening on port 0. Otherwise a test that
// waits for the program could get the answers of another program.
func FreeAddress() (string, error) {
	var lc net.ListenConfig
	var failed error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // no secret
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := lc.Listen(context.Background(), "tcp", address)
		if err == nil {
			return address, l.Close()
		}
		failed = err
	}
	return "", errors.Join(errors.New("varvetest: no free port"), failed)
}
