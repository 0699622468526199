package wire

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devicename"
)

// LineMapping assigns the tags of line protocol to readings.
//
// One tag is the device. The others are labels. They are either part of the device's name, as in
// "sensor_01;cpu=cpu0;site=north", or string fields whose names begin with "tag.".
type LineMapping struct {
	// Device names the tags that may name the device. The first one that a line has is used.
	Device []string
	// TagFields stores all labels as fields. Otherwise they are part of the device's name.
	TagFields bool
	// FieldTags names tags that are fields even if TagFields is false.
	FieldTags []string
}

// DefaultDeviceTags are the tags that name the device unless LineMapping has others.
var DefaultDeviceTags = []string{"device", "device_id", "deviceId", "sensor", "sensor_id", "host"}

var defaultMapping = &LineMapping{Device: DefaultDeviceTags}

// TagPrefix is the prefix of the names of fields that are tags of line protocol.
const TagPrefix = "tag."

func (m *LineMapping) isField(tag string) bool {
	return m.TagFields || slices.Contains(m.FieldTags, tag)
}

// lineSeries is the meaning of a measurement and its tags.
type lineSeries struct {
	stream, device string
	tags           []varve.Field // labels that are fields
	verdict        varve.Verdict // set if the series cannot have readings
}

// seriesCache caches the series of points. Its keys are the texts of their measurements and tags.
type seriesCache struct {
	mapping        *LineMapping
	stream, device string // if set, the stream of all points, and the device of points without a tag for the device
	replaced       string // if set, the device of all points
	byText         map[string]*lineSeries
	size           int // approximate memory of byText, in bytes
	last           *lineSeries
	lastText       []byte
}

// maxSeriesText is the maximum length in bytes of the text of a series in the cache. Longer texts are
// parsed each time.
const maxSeriesText = 1 << 10

// maxSeriesBytes is the maximum memory of the cache, in bytes. A full cache is emptied. The size of a series
// is estimated as the length of its text, and tagBytes for the series and for each tag that is a field.
const (
	maxSeriesBytes = 4 << 20
	tagBytes       = 100
)

// reset prepares the cache for the next body. It empties the cache if the mapping, the stream or
// the device has changed.
func (c *seriesCache) reset(d *Defaults) {
	m := d.Lines
	if m == nil {
		m = defaultMapping
	}
	if c.byText == nil || m != c.mapping || d.Stream != c.stream || d.Device != c.device || d.replacedDevice() != c.replaced {
		*c = seriesCache{mapping: m, stream: d.Stream, device: d.Device, replaced: d.replacedDevice(), byText: map[string]*lineSeries{}, lastText: c.lastText[:0]}
	}
}

// seriesLength returns the length of the measurement and the tags of a point. It returns -1 if no
// space follows them.
func seriesLength(point []byte) int {
	end := 0
	for {
		i := bytes.IndexByte(point[end:], ' ')
		if i < 0 {
			return -1
		}
		end += i
		if end == 0 || point[end-1] != '\\' {
			return end
		}
		end++
	}
}

// known returns the series of a point, and the offset of its fields. It returns nil unless the
// cache has the series and the series can have readings.
func (c *seriesCache) known(point []byte) (*lineSeries, int) {
	end := seriesLength(point)
	if end < 0 {
		return nil, 0
	}
	text := point[:end]
	s := c.last
	if s == nil || !bytes.Equal(text, c.lastText) {
		if s = c.byText[string(text)]; s == nil {
			return nil, 0
		}
		c.last, c.lastText = s, append(c.lastText[:0], text...)
	}
	if s.verdict.Outcome != 0 {
		return nil, 0
	}
	return s, end + 1
}

// find returns the series of a point, and the offset of its fields. It parses a series that is not in the
// cache. The verdict is set if the measurement or a tag is malformed, or if no fields follow them.
func (c *seriesCache) find(point []byte) (*lineSeries, int, varve.Verdict) {
	end := seriesLength(point)
	if end < 0 {
		_, v := c.parse(point) // may find a more precise reason
		if v.Outcome == 0 {
			v = malformedPoint("the line has no fields")
		}
		return nil, 0, v
	}
	text := point[:end]
	for end < len(point) && point[end] == ' ' {
		end++
	}
	if s := c.byText[string(text)]; s != nil {
		return s, end, varve.Verdict{}
	}
	s, v := c.parse(text)
	if v.Outcome != 0 {
		return nil, 0, v
	}
	if len(text) <= maxSeriesText {
		size := len(text) + tagBytes*(1+len(s.tags))
		if c.size+size > maxSeriesBytes {
			c.byText, c.size = map[string]*lineSeries{}, 0
		}
		c.byText[string(text)] = s
		c.size += size
	}
	return s, end, varve.Verdict{}
}

// parse parses a measurement and its tags. The verdict is set if the text is malformed.
func (c *seriesCache) parse(text []byte) (*lineSeries, varve.Verdict) {
	name, at := takeEscaped(text, false)
	if len(name) == 0 {
		return nil, malformedPoint("the name of the measurement is missing")
	}
	if !utf8.Valid(name) {
		return nil, malformedPoint("the name of the measurement is not valid UTF-8")
	}
	var labels []devicename.Label
	for at < len(text) {
		if text[at] != ',' {
			return nil, malformedPoint("%q in place of a tag or field", text[at])
		}
		at++
		key, n := takeKey(text[at:])
		at += n
		if len(key) == 0 || at == len(text) || text[at] != '=' {
			return nil, malformedPoint("the tag %s has no key and value", clip(string(key)))
		}
		at++
		value, n := takeKey(text[at:])
		at += n
		if len(value) == 0 {
			return nil, malformedPoint("the tag %s has no value", clip(string(key)))
		}
		if !utf8.Valid(key) || !utf8.Valid(value) {
			return nil, malformedPoint("a tag is not valid UTF-8")
		}
		labels = append(labels, devicename.Label{Key: string(key), Value: string(value)})
	}
	slices.SortStableFunc(labels, func(a, b devicename.Label) int { return strings.Compare(a.Key, b.Key) })
	for i := 1; i < len(labels); i++ {
		if labels[i].Key == labels[i-1].Key {
			return nil, malformedPoint("the tag %s occurs twice", clip(labels[i].Key))
		}
	}
	return c.assign(string(name), labels), varve.Verdict{}
}

// assign returns the series of a measurement with sorted tags.
func (c *seriesCache) assign(measurement string, labels []devicename.Label) *lineSeries {
	s := &lineSeries{stream: measurement}
	if c.stream != "" {
		s.stream = c.stream
	} else if err := varve.ValidateName("stream", measurement); err != nil {
		s.verdict = varve.Reject(varve.CodeStreamInvalid, "the measurement cannot be a stream: %s", err)
		return s
	}
	device := -1
	for _, tag := range c.mapping.Device {
		if device = slices.IndexFunc(labels, func(l devicename.Label) bool { return l.Key == tag }); device >= 0 {
			break
		}
	}
	if device < 0 && c.device == "" && c.replaced == "" {
		s.verdict = varve.Reject(varve.CodeDeviceInvalid, "no tag names the device: send one of the tags %.200s, or set influx.device",
			strings.Join(c.mapping.Device, ", "))
		return s
	}
	name := c.device
	var series []devicename.Label
	for i, l := range labels {
		switch {
		case i == device:
			name = l.Value
		case c.mapping.isField(l.Key):
			s.tags = append(s.tags, varve.Field{Name: TagPrefix + l.Key, Value: varve.StringValue(l.Value)})
		default:
			series = append(series, l)
		}
	}
	if s.device = devicename.Join(name, series); c.replaced != "" {
		s.device = c.replaced
	}
	if err := varve.ValidateNewDevice(s.device); err != nil {
		s.verdict = varve.Reject(varve.CodeDeviceInvalid, "%s", err)
	}
	return s
}
