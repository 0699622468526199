package mqtt

import (
	"errors"
	"io"
	"net"
	"time"
)

// deviceConn is the connection of a device. It ends at a packet that is longer than the limit. The MQTT
// library would close the connection without an answer. A deviceConn first sends a DISCONNECT with the
// reason code 0x95 to devices of MQTT 5. Packets before the long one are processed.
//
// Only the goroutine of the connection reads from it, and sets isV5. Each write has a time limit of its
// own, because another goroutine writes if a second connection takes over the client id.
type deviceConn struct {
	net.Conn
	limit   int  // maximum length of a packet after its fixed header; 0 means no limit
	isV5    bool // whether the version in the first packet is MQTT 5
	packets framing
	ended   bool // whether the header of a longer packet was received
}

// farewell is the time that a device has to read the DISCONNECT. Until then, the rest of its packet is
// discarded. Otherwise the device might not get the DISCONNECT, because a connection that is closed with
// unread bytes is reset.
const farewell = 2 * time.Second

// writeLimit is the time in which a device must read a packet that is sent to it.
const writeLimit = 30 * time.Second

// Write implements net.Conn. It fails after writeLimit, so that a device that reads nothing blocks neither
// its successor nor the end of the process.
func (c *deviceConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// SetDeadline sets the deadline of reads only. The MQTT library calls it for each packet that it
// reads, also while another goroutine writes.
func (c *deviceConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// tooLargeV5 is a DISCONNECT with the reason code "packet too large" and no properties.
const tooLargeV5 = "\xe0\x02\x95\x00"

var errPacketTooLong = errors.New("the packet is longer than the limit")

// Read implements net.Conn. It returns no byte after the header of a packet that is too long.
func (c *deviceConn) Read(p []byte) (int, error) {
	if c.ended {
		return 0, c.refuse()
	}
	n, err := c.Conn.Read(p)
	if c.limit <= 0 {
		return n, err
	}
	legal, ok := c.packets.scan(p[:n], c.limit)
	if ok {
		return n, err
	}
	c.ended = true
	if legal == 0 {
		return 0, c.refuse()
	}
	return legal, nil
}

// refuse answers a packet that is too long. The caller closes the connection.
func (c *deviceConn) refuse() error {
	if !c.isV5 || c.SetDeadline(time.Now().Add(farewell)) != nil {
		return errPacketTooLong
	}
	if _, err := io.WriteString(c, tooLargeV5); err == nil {
		_, _ = io.Copy(io.Discard, c.Conn) // ends when the device closes the connection, or after the time limit
	}
	return errPacketTooLong
}

// framing finds the ends of MQTT packets in the bytes of a connection. The zero framing is before the
// first packet.
type framing struct {
	rest     int  // bytes of the current packet that follow
	inLength bool // whether the bytes of the current packet's length follow
	length   int  // length of the current packet, as far as it was read
	shift    int  // number of bits in length
}

// maxLengthBits is the maximum number of bits in the length of a packet.
const maxLengthBits = 28

// scan scans further bytes of a connection. If a packet is longer than the limit, scan returns false and
// the number of bytes before the last byte of the packet's header.
func (f *framing) scan(b []byte, limit int) (n int, ok bool) {
	for n < len(b) {
		switch {
		case f.rest > 0:
			k := min(f.rest, len(b)-n)
			f.rest -= k
			n += k
			continue
		case !f.inLength:
			f.inLength, f.length, f.shift = true, 0, 0
		default:
			f.length |= int(b[n]&0x7f) << f.shift
			f.shift += 7
			if b[n]&0x80 == 0 || f.shift >= maxLengthBits { // the library refuses longer lengths
				if f.length > limit {
					return n, false
				}
				f.inLength, f.rest = false, f.length
			}
		}
		n++
	}
	return n, true
}
