package mqtt

import (
	"bufio"
	"encoding/binary"
)

// cutter reads the packets of a broker. It cuts messages after the limit: their length is the limit, and
// the rest is discarded. The libraries hold each message in memory until it is acknowledged, and a broker
// may send messages of 256 MiB.
type cutter struct {
	in      *bufio.Reader
	limit   int    // maximum length of a message's packet after its fixed header
	header  []byte // bytes of the current fixed header that were not returned yet
	rest    int    // bytes of the current packet that follow the header
	discard int    // bytes after them that are discarded
}

// maxPacket returns the maximum length of a packet with a message. A message that is somewhat longer
// than the maximum is read, so that it gets an answer and becomes a reject.
func maxPacket(maxMessage int) int { return min(2*maxMessage+64<<10, 1<<maxLengthBits) }

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

// readHeader reads the next fixed header, after the rest of a message that was cut. A header with an invalid
// length is returned unchanged, and the libraries refuse it.
func (c *cutter) readHeader() error {
	if _, err := c.in.Discard(c.discard); err != nil {
		return err
	}
	c.discard = 0
	first, err := c.in.ReadByte()
	if err != nil {
		return err
	}
	header := []byte{first}
	length := 0
	for shift := 0; shift < maxLengthBits; shift += 7 {
		b, err := c.in.ReadByte()
		if err != nil {
			return err
		}
		header = append(header, b)
		length |= int(b&0x7f) << shift
		if b&0x80 == 0 {
			break
		}
	}
	const publish = 3
	if first>>4 == publish && length > c.limit {
		c.discard = length - c.limit
		length = c.limit
		header = binary.AppendUvarint(header[:1], uint64(length)) // the same encoding as in MQTT
	}
	c.header, c.rest = header, length
	return nil
}
