package mqtt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// cutter reads the packets of a broker. If a message is longer than the limit, cutter returns it up to the
// limit, and discards the rest. The libraries hold each message in memory until it is acknowledged, and a
// broker may send messages of 256 MiB.
//
// A long message of MQTT 5 loses its properties first. So the payload of a message that was cut is at least
// twice as long as ReceiverOptions.MaxMessage, and the Receiver rejects it. A payload up to MaxMessage is
// returned as a whole.
type cutter struct {
	in      *bufio.Reader
	isV5    bool   // whether messages have properties
	limit   int    // maximum length of a message's packet after its fixed header
	header  []byte // bytes of the current packet that were read and not returned yet
	rest    int    // bytes of the current packet that follow the header
	discard int    // bytes after them that are discarded
}

// maxVariableHeader is the maximum length of the variable header of a message without properties. It has
// the topic, the packet id and the length of the properties.
const maxVariableHeader = 2 + 65_535 + 2 + 1

// maxPacket returns the maximum length of a packet with a message. A message that is somewhat longer
// than the maximum is read, so that it gets an answer and becomes a reject.
func maxPacket(maxMessage int) int { return min(2*maxMessage+maxVariableHeader, 1<<maxLengthBits) }

// Read implements io.Reader.
func (c *cutter) Read(p []byte) (n int, err error) {
	if len(c.header) == 0 && c.rest == 0 {
		if err := c.readHeader(); err != nil {
			return 0, err
		}
	}
	if len(c.header) > 0 {
		n = copy(p, c.header)
		c.header = c.header[n:]
		return n, nil
	}
	n, err = c.in.Read(p[:min(len(p), c.rest)])
	c.rest -= n
	return n, err
}

// readHeader discards the rest of a message that was cut, and reads the next fixed header. A header with an
// invalid length is returned unchanged, and the libraries refuse it.
func (c *cutter) readHeader() error {
	if _, err := c.in.Discard(c.discard); err != nil {
		return err
	}
	c.discard = 0
	first, err := c.in.ReadByte()
	if err != nil {
		return err
	}
	header, length, err := c.readLength([]byte{first})
	if err != nil {
		return err
	}
	const publish = 3
	if first>>4 == publish && length > c.limit {
		return c.cut(first, length)
	}
	c.header, c.rest = header, length
	return nil
}

// readLength reads a length of MQTT, and appends its bytes to a header.
func (c *cutter) readLength(header []byte) (_ []byte, length int, err error) {
	for shift := 0; shift < maxLengthBits; shift += 7 {
		b, err := c.in.ReadByte()
		if err != nil {
			return nil, 0, err
		}
		header = append(header, b)
		length |= int(b&0x7f) << shift
		if b&0x80 == 0 {
			break
		}
	}
	return header, length, nil
}

// cut makes a long message shorter. The argument "length" is its length after the fixed header.
func (c *cutter) cut(first byte, length int) error {
	var kept []byte
	if c.isV5 {
		var n int
		var err error
		if kept, n, err = c.dropProperties(first, length); err != nil {
			return err
		}
		length -= n
	}
	c.rest = min(length, max(0, c.limit-len(kept)))
	c.discard = length - c.rest
	c.header = binary.AppendUvarint([]byte{first}, uint64(len(kept)+c.rest)) // the same encoding as in MQTT
	c.header = append(c.header, kept...)
	return nil
}

var errMalformed = errors.New("the broker sent a malformed message")

// dropProperties reads a message up to its payload. It returns these bytes without the properties, and the
// number of bytes that it read.
func (c *cutter) dropProperties(first byte, length int) (kept []byte, n int, err error) {
	topic, err := c.in.Peek(2)
	if err != nil {
		return nil, 0, err
	}
	n = 2 + int(binary.BigEndian.Uint16(topic))
	if qos := first >> 1 & 3; qos > 0 {
		n += 2 // the packet id
	}
	if n >= length {
		return nil, 0, errMalformed
	}
	kept = make([]byte, n, n+1)
	if _, err := io.ReadFull(c.in, kept); err != nil {
		return nil, 0, err
	}
	raw, properties, err := c.readLength(nil)
	if err != nil {
		return nil, 0, err
	}
	if n += len(raw) + properties; n > length {
		return nil, 0, errMalformed
	}
	_, err = c.in.Discard(properties)
	return append(kept, 0), n, err
}
