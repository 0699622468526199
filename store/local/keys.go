package local

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// A key of Pebble begins with a byte for its contents:
//
//	f                                        the last journal segment that is in Pebble, 8 bytes
//	g                                        the generation of the catalog, 8 bytes
//	n                                        the next table's number, 4 bytes
//	q                                        the last chunk's number, 8 bytes
//	t name                                   a table; see tableRecord
//	s number                                 statistics of a table's chunks: readings and bytes, 8 bytes each
//	c number tenant 0 stream 0 device 0 …    a chunk
//	    … level first sequence               1, 8 and 8 bytes: 0 or 1, first event time, unique number
//	i pk sk                                  an item, both parts escaped
//	1 ipk isk pk sk                          an item's entry in the first index, without a value:
//	                                         its key in the index, and then its primary key
//	2 …                                      the same in the second index
//
// Integers are big-endian, so keys sort as numbers. Tables have numbers, so that a table that is
// recreated after a drop shares nothing with the old one.
//
// Changes in the journal write g, n, t, i, 1 and 2, and a drop also deletes c and s keys. Flushes,
// compactions and deletions of readings are not in the journal, and write f, q, s and c keys. Only
// keys of a dropped table are written by both. So a replay of the journal over a newer Pebble
// restores every key.
const (
	spaceFlushed    = 'f'
	spaceGeneration = 'g'
	spaceTables     = 'n'
	spaceChunks     = 'q'
	spaceStats      = 's'
	spaceTable      = 't'
	spaceChunk      = 'c'
	spaceItem       = 'i'
	spaceGSI1       = '1'
	spaceGSI2       = '2'
)

var (
	keyFlushed    = []byte{spaceFlushed}
	keyGeneration = []byte{spaceGeneration}
	keyNextTable  = []byte{spaceTables}
	keyLastChunk  = []byte{spaceChunks}
)

// The levels of chunks.
const (
	level0 = 0 // a chunk may overlap any other chunk of its series
	level1 = 1 // chunks of a series are disjoint
)

func tableKey(t grid.Table) []byte { return append([]byte{spaceTable}, t.Name()...) }

func statsKey(number uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{spaceStats}, number)
}

// chunkSpace returns the prefix of the keys of a table's chunks.
func chunkSpace(number uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{spaceChunk}, number)
}

// appendSeriesSpace appends the prefix of the chunk keys of a series in a table. No part of a series
// contains a zero byte.
func appendSeriesSpace(dst []byte, number uint32, s varve.Series) []byte {
	dst = append(dst, spaceChunk)
	dst = binary.BigEndian.AppendUint32(dst, number)
	dst = append(append(dst, s.Tenant...), 0)
	dst = append(append(dst, s.Stream...), 0)
	return append(append(dst, s.Device...), 0)
}

// chunkKeySuffix is the length of a chunk's key after the prefix of its series.
const chunkKeySuffix = 17

func appendChunkKey(dst, space []byte, level byte, first int64, sequence uint64) []byte {
	dst = append(append(dst, space...), level)
	dst = binary.BigEndian.AppendUint64(dst, uint64(first))
	return binary.BigEndian.AppendUint64(dst, sequence)
}

func levelOf(key, space []byte) byte { return key[len(space)] }

func seriesOf(key []byte) (varve.Series, error) {
	var parts [3]string
	rest := key[5 : len(key)-chunkKeySuffix]
	for i := range parts {
		end := -1
		for j, c := range rest {
			if c == 0 {
				end = j
				break
			}
		}
		if end < 0 {
			return varve.Series{}, errors.New("key of a chunk is damaged: " + hex.EncodeToString(key))
		}
		parts[i], rest = string(rest[:end]), rest[end+1:]
	}
	return varve.Series{Tenant: parts[0], Stream: parts[1], Device: parts[2]}, nil
}

// after returns the first key after all keys with a prefix.
func after(space []byte) []byte { return []byte(store.PrefixEnd(string(space))) }

// appendPart appends a string so that keys sort as their parts do. Zero bytes are escaped, and the
// bytes 0 and 1 mark the end.
func appendPart(dst []byte, s string) []byte {
	for {
		before, rest, found := strings.Cut(s, "\x00")
		dst = append(dst, before...)
		if !found {
			return append(dst, 0, 1)
		}
		dst, s = append(dst, 0, 0xff), rest
	}
}

// cutPart parses a string that appendPart has encoded, and returns the rest of the key.
func cutPart(key []byte) (s string, rest []byte, ok bool) {
	var part []byte // the string so far, up to its last zero byte
	for {
		i := bytes.IndexByte(key, 0)
		if i < 0 || i+1 == len(key) {
			return "", nil, false
		}
		if key[i+1] == 1 && part == nil {
			return string(key[:i]), key[i+2:], true
		}
		part = append(part, key[:i]...)
		if key[i+1] == 1 {
			return string(part), key[i+2:], true
		}
		part, key = append(part, 0), key[i+2:]
	}
}
