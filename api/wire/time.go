package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/timefmt"
)

// Precision is the unit of numeric times.
type Precision int64

// The precisions, in nanoseconds.
const (
	Seconds      Precision = 1e9
	Milliseconds Precision = 1e6
	Microseconds Precision = 1e3
	Nanoseconds  Precision = 1
)

var precisions = []struct {
	name string
	word string
	unit Precision
}{{"s", "seconds", Seconds}, {"ms", "milliseconds", Milliseconds}, {"us", "microseconds", Microseconds}, {"ns", "nanoseconds", Nanoseconds}}

// ParsePrecision parses s, ms, us or ns. The default for "" is ms.
func ParsePrecision(s string) (Precision, error) {
	if s == "" {
		return Milliseconds, nil
	}
	for _, p := range precisions {
		if p.name == s {
			return p.unit, nil
		}
	}
	return 0, fmt.Errorf("precision %q is unknown: use s, ms, us or ns", s)
}

func (p Precision) String() string {
	for _, q := range precisions {
		if q.unit == p {
			return q.name
		}
	}
	return strconv.FormatInt(int64(p), 10) + "ns"
}

// TimeFormat defines the interpretation of times.
type TimeFormat struct {
	Precision Precision      // unit of numeric times; 0 means Milliseconds
	Location  *time.Location // zone of times without a zone; nil means UTC
	Choice    LocalChoice    // handling of local times that occur twice or never
}

// firstNumeric is the earliest valid numeric time except 0: 10^8 seconds, 1973-03-03, in
// nanoseconds. Earlier numbers are assumed to have a wrong unit. 0 means 1970 in every unit.
const firstNumeric = 1e8 * int64(time.Second)

// Parse parses a time. If the text is not a valid time, the verdict is a rejection, otherwise it is
// the zero Verdict.
//
// A time is RFC 3339. A space may replace the T between date and time. It can also be a date and time
// without a zone, as in 2015-08-31 18:22:00, or a date. Or it is the number of units since 1970, where
// the unit is the precision of the format. The second 60 of a leap second is read as the second after 59.
func (f TimeFormat) Parse(text string) (time.Time, varve.Verdict) {
	if text == "" {
		return time.Time{}, varve.Reject(varve.CodeTimeMissing, "the time is empty")
	}
	if looksNumeric(text) {
		return f.parseNumber(text)
	}
	return f.parseText(text)
}

// looksNumeric reports whether a time is a number, such as 1475001526 or 1.4750015e9, and not a date.
func looksNumeric(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c-'0' <= 9, c == '.', c == 'e', c == 'E', c == '+':
		case c == '-' && (i == 0 || s[i-1]|0x20 == 'e'):
		default:
			return false
		}
	}
	return true
}

func (f TimeFormat) parseNumber(text string) (time.Time, varve.Verdict) {
	p := f.Precision
	if p == 0 {
		p = Milliseconds
	}
	n, err := decimal.Parse(text)
	if err != nil {
		return time.Time{}, varve.Reject(varve.CodeTimeInvalid, "time %s: %s", clip(text), err)
	}
	ns, err := scale(n, p)
	if err == nil && (ns >= firstNumeric || n.IsZero()) {
		return time.Unix(0, ns).UTC(), varve.Verdict{}
	}
	if errors.Is(err, errTooFine) {
		return time.Time{}, varve.Reject(varve.CodeTimeInvalid, "time %s is finer than a nanosecond", clip(text))
	}
	return time.Time{}, wrongUnit(text, n, p)
}

// wrongUnit returns the verdict on an implausible number. It names the unit in which the number is
// plausible, if any.
func wrongUnit(text string, n varve.Number, p Precision) varve.Verdict {
	for _, q := range precisions {
		ns, err := scale(n, q.unit)
		if q.unit == p || err != nil || ns < firstNumeric || ns > lastPlausible {
			continue
		}
		send := "precision=" + q.name
		if p == Milliseconds {
			send = "milliseconds or " + send
		}
		return varve.Reject(varve.CodeTimeUnit, "%s looks like %s: send %s", clip(text), q.word, send)
	}
	code := varve.CodeTimeTooOld
	if _, err := scale(n, p); errors.Is(err, errRange) && n.Compare(varve.Number{}) > 0 {
		code = varve.CodeTimeInFuture
	}
	return varve.Reject(code, "time %s in %s is neither 0 nor between 1973 and 2262: if it is meant, send it as RFC 3339", clip(text), p)
}

// lastPlausible is the upper limit for the detection of a unit: the year 2100.
const lastPlausible = 4_102_444_800 * int64(time.Second)

var (
	errTooFine = errors.New("finer than a nanosecond")
	errRange   = errors.New("out of range")
)

// scale returns n units in nanoseconds, exactly.
func scale(n varve.Number, unit Precision) (int64, error) {
	n = n.Canonical()
	_, _, _, exp := n.Parts()
	for u := unit; u > 1; u /= 10 {
		exp++
	}
	if exp < 0 {
		return 0, errTooFine
	}
	coefficient, _, ok := n.Scaled()
	if !ok {
		return 0, errRange
	}
	for ; exp > 0; exp-- {
		if coefficient > math.MaxInt64/10 || coefficient < math.MinInt64/10 {
			return 0, errRange
		}
		coefficient *= 10
	}
	return coefficient, nil
}

// zoneless lists the layouts of a time without a zone.
var zoneless = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// zoned is the layout of a time with a zone, and with a space in place of the T of RFC 3339.
const zoned = "2006-01-02 15:04:05Z07:00"

func (f TimeFormat) parseText(text string) (time.Time, varve.Verdict) {
	if fractionDigits(text) > 9 {
		return time.Time{}, varve.Reject(varve.CodeTimeInvalid, "time %s is finer than a nanosecond", clip(text))
	}
	if t, err := timefmt.ParseTime(time.RFC3339, text, time.UTC); err == nil {
		return inRange(t)
	}
	loc := f.Location
	if loc == nil {
		loc = time.UTC
	}
	for _, form := range append(zoneless, zoned) {
		t, err := timefmt.ParseTime(form, text, loc)
		if err != nil {
			continue
		}
		if loc == time.UTC || form == zoned {
			return inRange(t)
		}
		// This cannot fail: the text was parsed with this form above.
		wall, _ := timefmt.ParseWall(form, text)
		return f.chooseLocal(text, wall, t)
	}
	return time.Time{}, varve.Reject(varve.CodeTimeInvalid,
		"time %s cannot be read: send RFC 3339, as in 2026-04-20T14:00:00Z, or a number of milliseconds since 1970", clip(text))
}

func inRange(t time.Time) (time.Time, varve.Verdict) {
	switch all := varve.AllTime(); {
	case t.Before(all.From):
		return time.Time{}, varve.Reject(varve.CodeTimeTooOld, "time %s is before 1970", t.UTC().Format(time.RFC3339))
	case !t.Before(all.To):
		return time.Time{}, varve.Reject(varve.CodeTimeInFuture, "time %s is after 2262", t.UTC().Format(time.RFC3339))
	}
	return t.UTC(), varve.Verdict{}
}

func fractionDigits(text string) int {
	dot := strings.LastIndexAny(text, ".,")
	if dot < 0 {
		return 0
	}
	n := 0
	for _, c := range text[dot+1:] {
		if c < '0' || c > '9' {
			break
		}
		n++
	}
	return n
}

// clip returns a text for a message, in quotes unless it is a short number.
func clip(s string) string {
	if len(s) <= quote.Max && looksNumeric(s) {
		return s
	}
	return quote.Text(s)
}

// AppendTime appends t as RFC 3339 in UTC, with as few decimals as possible.
func AppendTime(dst []byte, t time.Time) []byte {
	var c Clock
	return c.Append(dst, t)
}

// Clock formats a sequence of times. It is faster than AppendTime for times of the same day. The
// zero Clock is ready to use.
type Clock struct {
	start int64 // start of the day in text, in seconds since 1970
	some  bool  // if true, text contains a day
	text  [timeLen]byte
}

const timeLen = len("2006-01-02T15:04:05Z")

// Append appends t as AppendTime does.
func (c *Clock) Append(dst []byte, t time.Time) []byte {
	return c.append(dst, t.Unix(), t.Nanosecond())
}

func (c *Clock) appendNano(dst []byte, ns int64) []byte {
	sec := floorDiv(ns, 1e9)
	return c.append(dst, sec, int(ns-sec*1e9))
}

func (c *Clock) appendMilli(dst []byte, ms int64) []byte {
	sec := floorDiv(ms, 1e3)
	return c.append(dst, sec, int(ms-sec*1e3)*1e6)
}

const secondsPerDay = 24 * 60 * 60

func (c *Clock) append(dst []byte, sec int64, ns int) []byte {
	if !c.some || uint64(sec-c.start) >= secondsPerDay {
		day := floorDiv(sec, secondsPerDay)
		c.start, c.some = day*secondsPerDay, true
		putDate((*[10]byte)(c.text[:]), day)
		c.text[10], c.text[timeLen-1] = 'T', 'Z'
	}
	// Append the text first, and write the time of day into dst. To write it into c.text and to copy it
	// would be slower.
	at := len(dst)
	dst = append(dst, c.text[:]...)
	putClock((*[8]byte)(dst[at+clockAt:]), uint32(sec-c.start))
	if ns == 0 {
		return dst
	}
	return append(appendDecimals(dst[:at+timeLen-1], ns), 'Z')
}

// clockAt is the offset of the time of day in the text of a time.
const clockAt = len("2006-01-02T")

// putClock writes a time of day, as in 15:04:05.
func putClock(dst *[8]byte, s uint32) {
	m := s / 60
	h := m / 60
	text := pairs[h&63] | pairs[(m-h*60)&63]<<24 | pairs[(s-m*60)&63]<<48 | ':'<<16 | ':'<<40
	binary.LittleEndian.PutUint64(dst[:], text)
}

// pairs has the texts of the numbers from 00 to 59, the first digit in the lowest byte.
var pairs = func() (p [64]uint64) {
	for i := range uint64(60) {
		p[i] = '0' + i/10 | ('0'+i%10)<<8
	}
	return p
}()

// appendDecimals appends the nanoseconds of a second without trailing zeros.
func appendDecimals(dst []byte, ns int) []byte {
	digits := 9
	if ms := ns / 1e6; ms*1e6 == ns { // most times have whole milliseconds
		if ms%10 != 0 {
			return append(dst, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
		}
		ns, digits = ms, 3
	}
	for ns%10 == 0 {
		ns, digits = ns/10, digits-1
	}
	at := len(dst)
	dst = append(dst, ".000000000"[:digits+1]...)
	for i := at + digits; ns > 0; i-- {
		dst[i] = byte('0' + ns%10)
		ns /= 10
	}
	return dst
}

// putDate writes the date of a day, counted from 1970-01-01. It inverts days_from_civil of
// Howard Hinnant ("chrono-Compatible Low-Level Date Algorithms").
func putDate(dst *[10]byte, days int64) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day := doy - (153*mp+2)/5 + 1
	month := mp + 3
	year := yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	put2(dst[0:], year/100)
	put2(dst[2:], year%100)
	dst[4] = '-'
	put2(dst[5:], month)
	dst[7] = '-'
	put2(dst[8:], day)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func put2(dst []byte, v int64) { dst[0], dst[1] = byte('0'+v/10), byte('0'+v%10) }

// parseBytes parses a time as Parse does. It does not retain the text.
func (f TimeFormat) parseBytes(text []byte) (time.Time, varve.Verdict) {
	if t, ok := f.quick(text); ok {
		return t, varve.Verdict{}
	}
	return f.Parse(string(text))
}

// quick parses the most common forms: a whole number, and RFC 3339 in UTC to the second. It returns
// false for all other texts, and for times that may be invalid.
func (f TimeFormat) quick(text []byte) (time.Time, bool) {
	if n := len(text); n == 20 && text[10] == 'T' && text[19] == 'Z' {
		t, err := time.Parse(time.RFC3339, string(text))
		if err != nil {
			return t, false
		}
		_, v := inRange(t)
		return t, v.Outcome == 0
	}
	p := f.Precision
	if p == 0 {
		p = Milliseconds
	}
	if len(text) == 0 || len(text) > 18 || text[0] == '0' && len(text) > 1 {
		return time.Time{}, false
	}
	var v int64
	for _, c := range text {
		if c-'0' > 9 {
			return time.Time{}, false
		}
		v = v*10 + int64(c-'0')
	}
	if v > math.MaxInt64/int64(p) || v*int64(p) < firstNumeric {
		return time.Time{}, false
	}
	return time.Unix(0, v*int64(p)).UTC(), true
}
