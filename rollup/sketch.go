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

// mostPrints is up to how many readings a sketch has a fingerprint of each. It
// keeps a sketch below 600 bytes.
const mostPrints = 128

const (
	hourMinutes = 60
	printBits   = 18 // of a fingerprint, below its minute
	printBytes  = 3
	digestBytes = 4 // of a minute's digest
)

// sketch identifies the readings of a partial: each of them, or, where there are
// more than mostPrints, those of each minute together.
type sketch struct {
	entries []entry
	minutes *[hourMinutes]summary // if set, there are no entries
}

// entry identifies a reading within its hour.
type entry struct {
	minute int
	digest uint64
}

// summary identifies a set of readings.
type summary struct {
	readings int64
	digest   uint64
}

func (s *summary) add(o summary) {
	s.readings += o.readings
	s.digest += o.digest
}

func entryOf(at varve.Position) entry {
	const minute = 60_000_000_000
	return entry{minute: int(at.Time / minute % hourMinutes), digest: digestOf(at)}
}

// print returns the fingerprint: the minute, and the digest's highest bits.
func (e entry) print() uint32 {
	return uint32(e.minute)<<printBits | uint32(e.digest>>(64-printBits))
}

func (s *sketch) add(e entry) {
	if s.minutes == nil && len(s.entries) == mostPrints {
		s.fold()
	}
	if s.minutes == nil {
		s.entries = append(s.entries, e)
		return
	}
	s.minutes[e.minute].add(summary{1, e.digest})
}

// fold sums the entries up by the minute.
func (s *sketch) fold() {
	s.minutes = new([hourMinutes]summary)
	for _, e := range s.entries {
		s.minutes[e.minute].add(summary{1, e.digest})
	}
	s.entries = nil
}

// merge adds another sketch.
func (s *sketch) merge(o *sketch) {
	if o.minutes != nil && s.minutes == nil {
		s.fold()
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

// prints returns the fingerprints as text, in their order, of four characters
// each; "" if there are none.
func (s *sketch) prints() string {
	list := make([]uint32, len(s.entries))
	for i, e := range s.entries {
		list[i] = e.print()
	}
	slices.Sort(list)
	buf := make([]byte, 0, printBytes*len(list))
	for _, p := range list {
		buf = append(buf, byte(p>>16), byte(p>>8), byte(p))
	}
	return sketchText.EncodeToString(buf)
}

// summaries returns the minutes with readings as text; "" if there are none: of
// each the minute, the count, and the lowest bits of the digest.
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

// parsePrints reads what prints returns.
func parsePrints(text string) (list []uint32, err error) {
	buf, err := sketchText.DecodeString(text)
	if err != nil || len(buf)%printBytes != 0 {
		return nil, errSketch
	}
	for ; len(buf) > 0; buf = buf[printBytes:] {
		list = append(list, uint32(buf[0])<<16|uint32(buf[1])<<8|uint32(buf[2]))
	}
	return list, nil
}

// parseSummaries reads what summaries returns.
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

// digestOf is what a reading adds to the digest of which readings a partial is of.
// The sum is the same in whatever order they come, and tells sets of them apart,
// but for one in 2^64.
func digestOf(at varve.Position) uint64 {
	id, ok := at.ID.Hash()
	if !ok {
		var buf [64]byte
		id = xxhash.Sum64(at.ID.Append(buf[:0]))
	}
	// As splitmix64 does, so that sums of like positions are unlike.
	x := id ^ uint64(at.Time)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// seen is what the partials of an hour tell of the readings that arrived before a
// day, and were counted.
type seen struct {
	prints  map[uint32]bool
	minutes map[int][]summary // of partials with too many readings for fingerprints
	hours   []summary         // of partials without a sketch, which older versions wrote
}

// add adds a partial.
func (s *seen) add(p *Partial) error {
	switch {
	case p.Readings == 0:
	case p.prints != "":
		prints, err := parsePrints(p.prints)
		if err == nil && int64(len(prints)) != p.Readings {
			err = errSketch
		}
		if err != nil {
			return fmt.Errorf("%s: %w", attrPrints, err)
		}
		for _, f := range prints {
			s.prints[f] = true
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
		s.hours = append(s.hours, summary{p.Readings, p.digest})
	}
	return nil
}
