package rollup

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
)

// maxFingerprints is the largest number of readings for which a sketch has a fingerprint each. It
// limits the size of a sketch to about 600 bytes.
const maxFingerprints = 128

const (
	hourMinutes      = 60
	fingerprintBits  = 18 // number of low bits of a fingerprint that are from the hash; the bits above are the minute
	fingerprintBytes = 3
	digestBytes      = 4 // bytes of the digest in the summary of a minute
)

// digestOf returns the hash of a reading. A digest is the sum of the hashes of a set of readings, so
// it does not depend on their order. Two different sets have the same digest with a probability of
// 2^-64.
func digestOf(at varve.Position) uint64 {
	id, ok := at.ID.Hash()
	if !ok {
		var buf [64]byte
		id = xxhash.Sum64(at.ID.AppendKey(buf[:0]))
	}
	// The last mixing operations of splitmix64 make the hashes of similar positions very different.
	x := id ^ uint64(at.Time)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// entry identifies a reading within its hour.
type entry struct {
	minute int
	digest uint64
}

func entryOf(at varve.Position) entry {
	const minute = 60_000_000_000
	return entry{minute: int(at.Time / minute % hourMinutes), digest: digestOf(at)}
}

// fingerprint returns the minute followed by the highest bits of the reading's hash.
func (e entry) fingerprint() uint32 {
	return uint32(e.minute)<<fingerprintBits | uint32(e.digest>>(64-fingerprintBits))
}

// summary identifies a set of readings by their number and digest.
type summary struct {
	readings int64
	digest   uint64
}

func (s *summary) add(o summary) {
	s.readings += o.readings
	s.digest += o.digest
}

// sketch identifies the readings of a partial. It has a fingerprint for each of up to
// maxFingerprints readings. For more readings, it has a summary for each minute.
type sketch struct {
	entries []entry
	minutes *[hourMinutes]summary // if set, entries is empty
}

func (s *sketch) add(e entry) {
	if s.minutes == nil && len(s.entries) == maxFingerprints {
		s.foldEntries()
	}
	if s.minutes == nil {
		s.entries = append(s.entries, e)
		return
	}
	s.minutes[e.minute].add(summary{1, e.digest})
}

func (s *sketch) foldEntries() {
	s.minutes = new([hourMinutes]summary)
	for _, e := range s.entries {
		s.minutes[e.minute].add(summary{1, e.digest})
	}
	s.entries = nil
}

func (s *sketch) merge(o *sketch) {
	if o.minutes != nil && s.minutes == nil {
		s.foldEntries()
	}
	for _, e := range o.entries {
		s.add(e)
	}
	if o.minutes == nil {
		return
	}
	for i := range o.minutes {
		s.minutes[i].add(o.minutes[i])
	}
}

var sketchText = base64.RawURLEncoding

// fingerprints returns the sorted fingerprints as text, with four characters for each.
func (s *sketch) fingerprints() string {
	list := make([]uint32, len(s.entries))
	for i, e := range s.entries {
		list[i] = e.fingerprint()
	}
	slices.Sort(list)
	buf := make([]byte, 0, fingerprintBytes*len(list))
	for _, p := range list {
		buf = append(buf, byte(p>>16), byte(p>>8), byte(p))
	}
	return sketchText.EncodeToString(buf)
}

// summaries returns the summaries of all minutes with readings as text. Each consists of the
// minute, the number of its readings, and the lowest bits of their digest.
func (s *sketch) summaries() string {
	if s.minutes == nil {
		return ""
	}
	var buf []byte
	for i, m := range s.minutes {
		if m.readings > 0 {
			buf = append(buf, byte(i))
			buf = binary.AppendUvarint(buf, uint64(m.readings))
			buf = binary.BigEndian.AppendUint32(buf, uint32(m.digest))
		}
	}
	return sketchText.EncodeToString(buf)
}

var errSketch = errors.New("is damaged")

// parseFingerprints parses a text that [sketch.fingerprints] returned.
func parseFingerprints(text string) (list []uint32, err error) {
	buf, err := sketchText.DecodeString(text)
	if err != nil || len(buf)%fingerprintBytes != 0 {
		return nil, errSketch
	}
	for ; len(buf) > 0; buf = buf[fingerprintBytes:] {
		list = append(list, uint32(buf[0])<<16|uint32(buf[1])<<8|uint32(buf[2]))
	}
	return list, nil
}

// parseSummaries parses a text that [sketch.summaries] returned.
func parseSummaries(text string) (minutes map[int]summary, err error) {
	buf, err := sketchText.DecodeString(text)
	if err != nil {
		return nil, errSketch
	}
	minutes = map[int]summary{}
	for len(buf) > 0 {
		minute := int(buf[0])
		readings, n := binary.Uvarint(buf[1:])
		if n <= 0 || len(buf) < 1+n+digestBytes || minute >= hourMinutes {
			return nil, errSketch
		}
		minutes[minute] = summary{int64(readings), uint64(binary.BigEndian.Uint32(buf[1+n:]))}
		buf = buf[1+n+digestBytes:]
	}
	return minutes, nil
}

// earlierReadings identifies the readings of an hour that were counted on earlier arrival days.
type earlierReadings struct {
	fingerprints map[uint32]bool
	minutes      map[int][]summary // summaries by minute, from partials with more than maxFingerprints readings
	hours        []summary         // summaries of whole partials without a sketch, from older versions of Varve
}

func (s *earlierReadings) add(p *Partial) error {
	switch {
	case p.identity().readings == 0:
	case p.fingerprints != "":
		list, err := parseFingerprints(p.fingerprints)
		if err == nil && int64(len(list)) < p.identity().readings {
			err = errSketch
		}
		if err != nil {
			return fmt.Errorf("%s: %w", attrFingerprints, err)
		}
		for _, f := range list {
			s.fingerprints[f] = true
		}
	case p.minutes != "":
		minutes, err := parseSummaries(p.minutes)
		if err != nil {
			return fmt.Errorf("%s: %w", attrMinutes, err)
		}
		for m, of := range minutes {
			s.minutes[m] = append(s.minutes[m], of)
		}
	default:
		s.hours = append(s.hours, p.identity())
	}
	return nil
}
