package wire

import (
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/varvedb/varve"
)

var lineEntry = entry{
	title: "line protocol", name: "line",
	media:      []string{"application/vnd.influx.line-protocol"},
	bodyMedia:  []string{"text/vnd.influx.line-protocol"},
	extensions: []string{".lp", ".line"},
	newReader: func(mem *Memory, body io.Reader, d Defaults, _ Columns) (Reader, error) {
		mem.buffer.reset(body)
		mem.buffer.bounded = true
		mem.line.reset(&mem.buffer, d)
		return &mem.line, nil
	},
	newCutter:  func(b *buffer, _ Columns) cutter { return newPointCutter(b) },
	onlyBodies: true,
}

// LineAuto means that the unit of each numeric time in line protocol follows from its magnitude.
const LineAuto Precision = -1

// lineReader parses the line protocol of InfluxDB:
//
//	weather,device=sensor_01,site=north temperature=22.4,ok=true,n=7i 1475001526000000000
//
// The measurement is the stream, unless Defaults.Stream is set. LineMapping selects the tag that is the
// device. The other tags are part of the device's name, or fields. A quoted string may span lines. If
// these lines do not form a point, only the first line is rejected, as in CSV.
type lineReader struct {
	Defaults
	buffer *buffer
	series seriesCache
	scan   pointScan
}

func (l *lineReader) reset(b *buffer, d Defaults) {
	if d.Time.Precision == 0 {
		d.Time.Precision = Nanoseconds
	}
	l.series.reset(&d)
	l.Defaults, l.buffer = d, b
}

// Read implements Reader.
func (l *lineReader) Read(b *Batch) error {
	w := l.buffer
	for !b.Full() {
		if err := w.skipBlankLines(); err != nil {
			return err
		}
		line := w.line
		text, err := w.firstLine()
		switch {
		case errors.Is(err, errLineTooLong):
			b.add(line)
			b.reject(varve.Reject(varve.CodeTooLarge, "the line is longer than %d bytes", maxLine))
			if err := w.skipLine(); err != nil {
				return err
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err // the rest of the line may be a partial point
		}
		point := trimPoint(text)
		switch {
		case len(point) == 0:
			w.consume(len(text))
		case point[0] == '#':
			if err := w.skip(len(text)); err != nil {
				return err
			}
		default:
			if err := l.point(b, text, point, line); err != nil {
				return err
			}
			continue // an error of the body is returned after the buffered lines
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trimPoint returns a line without its end and without spaces before the point.
func trimPoint(text []byte) []byte {
	text = trimLineEnd(text)
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	if len(trimBlanks(text)) == 0 {
		return nil // a line of tabs is blank, too
	}
	return text
}

func trimLineEnd(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text
}

// point reads the point that begins with the first line of the buffer.
func (l *lineReader) point(b *Batch, text, point []byte, line int) error {
	b.add(line)
	size, v, err := l.judge(b, text, point)
	if err != nil {
		return err
	}
	w := l.buffer
	b.recordText(trimLineEnd(w.buf[w.from : w.from+size]))
	b.reject(v)
	w.consume(size)
	return nil
}

// judge parses the point at the start of the buffer, and stores it in the last reading of the batch. It
// returns the size of the point's text, and the verdict on the point.
func (l *lineReader) judge(b *Batch, text, point []byte) (size int, v varve.Verdict, err error) {
	r := &b.Readings[len(b.Readings)-1]
	r.Tenant, size = l.Tenant, len(text)
	if l.Replace == nil && l.plain(b, r, point) {
		return size, v, nil
	}
	if v = l.parse(b, r, point); v.Message != openQuote {
		return size, v, nil
	}
	spaces := len(trimLineEnd(text)) - len(point)
	all, err := l.buffer.quotedLines(size, spaces+l.scan.at)
	if err != nil || all == nil {
		return size, v, err
	}
	if whole := l.parse(b, r, trimPoint(all)); whole.Code != varve.CodeMalformed {
		return len(all), whole, nil
	}
	return size, v, nil
}

// quotedLines returns the lines of a point whose first line ends within a quoted string. The last
// of these lines does not end within a string. If no such line follows, quotedLines returns nil.
//
// The argument "first" is the length of the first line. The argument "quote" is the offset of the opening
// quote in this line.
func (b *buffer) quotedLines(first, quote int) ([]byte, error) {
	n := first
	for open := isQuoteOpen(b.buf[b.from+quote:b.from+n], false); open; {
		switch at := b.offset + int64(n); {
		case b.openFrom <= at && at <= b.openTo:
			n = int(b.openTo - b.offset) // an earlier search found that the string is still open there
		case n == first:
			b.openFrom = at
			fallthrough
		default:
			b.openTo = at
		}
		line, err := b.peek(n)
		if errors.Is(err, errLineTooLong) || err == nil && len(line) == 0 || errors.Is(err, io.EOF) && len(line) == 0 {
			return nil, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		n += len(line)
		open = isQuoteOpen(line, true)
	}
	if n == first {
		return nil, nil
	}
	return b.buf[b.from : b.from+n], nil
}

// isQuoteOpen reports whether a string is open at the end of a text, given whether one is open at
// its start.
func isQuoteOpen(text []byte, open bool) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			open = !open
		case text[i] == '\\' && open:
			i++
		}
	}
	return open
}

// plain parses a point of a known series with plain values, a time, and the field names of an earlier
// point. It is faster than parse. For other points, it returns false and leaves the batch unchanged. Then
// the caller must call parse.
func (l *lineReader) plain(b *Batch, r *varve.Reading, text []byte) bool {
	s, rest := l.series.known(text)
	if s == nil {
		return false
	}
	p := &l.scan
	p.text, p.at = text, rest
	size, from := b.size, b.begin()
	if !p.plainFields(b) {
		return false
	}
	n, ok := p.plainStamp()
	unit := uint64(l.Time.Precision)
	if !ok || l.Time.Precision < 0 || n > math.MaxInt64/unit || int64(n*unit) < firstNumeric {
		clear(b.fields[from:])
		b.size, b.fields = size, b.fields[:from]
		return false
	}
	r.Stream, r.Time = s.stream, time.Unix(0, int64(n*unit)).UTC()
	b.setDevice(r, s.device)
	for _, tag := range s.tags {
		b.field(tag.Name, tag.Value)
	}
	b.end(from, r)
	return true
}

// parse parses a point as the last reading of the batch. It returns the zero verdict if the point
// is valid so far.
func (l *lineReader) parse(b *Batch, r *varve.Reading, text []byte) varve.Verdict {
	s, rest, v := l.series.find(text)
	if v.Outcome != 0 {
		return v
	}
	r.Stream = s.stream
	b.setDevice(r, s.device)
	from := b.begin()
	p := &l.scan
	p.text, p.at = text, rest
	v = p.anyFields(b)
	if v.Outcome == 0 {
		var at varve.Verdict
		if r.Time, at = l.time(p); at.Code == varve.CodeMalformed {
			v = at
		} else if replaced := l.replacedTime(); !replaced.IsZero() {
			r.Time, v = replaced, s.verdict
		} else if v = s.verdict; v.Outcome == 0 {
			v = at
		}
	}
	if v.Outcome != 0 {
		clear(b.fields[from:])
		b.fields = b.fields[:from]
		return v
	}
	for _, tag := range s.tags {
		b.field(tag.Name, tag.Value)
	}
	b.end(from, r)
	return v
}

// time parses the rest of a point after its fields. If the rest is empty, the time is the result of
// Now, truncated to milliseconds. If Now is nil, the point is rejected instead.
func (l *lineReader) time(p *pointScan) (time.Time, varve.Verdict) {
	text := p.stamp()
	switch {
	case p.at < len(p.text):
		return time.Time{}, malformedPoint("%s follows the fields in place of a time", clip(string(p.text[p.at-len(text):])))
	case len(text) > 0:
		return l.Time.parseStamp(text)
	case l.Now == nil:
		return time.Time{}, varve.Reject(varve.CodeTimeMissing, "the line has no time")
	default:
		return l.Now().UTC().Truncate(time.Millisecond), varve.Verdict{}
	}
}

// parseStamp parses a time: a whole number of units since 1970. With LineAuto, the magnitude of the
// number determines the unit. Otherwise, the unit is the precision.
func (f TimeFormat) parseStamp(text []byte) (time.Time, varve.Verdict) {
	if f.Precision != LineAuto {
		if t, ok := f.quick(text); ok {
			return t, varve.Verdict{}
		}
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return time.Time{}, malformedPoint("time %s is not a whole number", clip(string(text)))
	}
	if f.Precision == LineAuto {
		f.Precision = unitOf(n)
	}
	p := int64(f.Precision)
	if err == nil && n <= math.MaxInt64/p && n >= 0 && n*p >= firstNumeric {
		return time.Unix(0, n*p).UTC(), varve.Verdict{}
	}
	if f.Precision > Seconds {
		return time.Time{}, varve.Reject(varve.CodeTimeTooOld, "time %s in units of %s is not between 1973 and 2262", clip(string(text)), time.Duration(p))
	}
	return f.parseNumber(string(text))
}

// unitOf returns the unit of a number by its magnitude, with the limits of InfluxDB 3.
func unitOf(n int64) Precision {
	switch {
	case n < 5_000_000_000:
		return Seconds
	case n < 5_000_000_000_000:
		return Milliseconds
	case n < 5_000_000_000_000_000:
		return Microseconds
	default:
		return Nanoseconds
	}
}

func malformedPoint(format string, args ...any) varve.Verdict {
	return varve.Reject(varve.CodeMalformed, "not a point of line protocol: "+format, args...)
}

// newPointCutter returns a cutter of a file of line protocol. The cutter parses the points, because a
// point may span lines.
func newPointCutter(w *buffer) *lineCutter {
	var b Batch
	l := new(lineReader)
	l.reset(w, Defaults{Device: "any"})
	return &lineCutter{
		buffer: w,
		omit: func(line []byte) bool {
			point := trimPoint(line)
			return len(point) == 0 || point[0] == '#'
		},
		length: func(line []byte) (int, error) {
			b.Reset()
			b.add(0)
			n, _, err := l.judge(&b, line, trimPoint(line))
			return n, err
		},
	}
}
