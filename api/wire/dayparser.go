package wire

import "time"

// dayParser parses times in the form that Clock writes. It is several times faster than TimeFormat for
// times of the same day. The zero dayParser is ready to use.
type dayParser struct {
	start int64 // start of the day that date names, in seconds since 1970
	date  [len(time.DateOnly)]byte
}

// parse parses RFC 3339 with the zone Z and up to nine decimals. It returns false for all other texts, and
// for times that may be out of range.
func (p *dayParser) parse(text []byte) (time.Time, bool) {
	if len(text) < timeLen || text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[len(text)-1] != 'Z' {
		return time.Time{}, false
	}
	if [len(time.DateOnly)]byte(text) != p.date || text[0] == 0 {
		day, err := time.Parse(time.DateOnly, string(text[:len(time.DateOnly)]))
		if err != nil || day.Year() < firstYear || day.Year() > lastYear {
			return time.Time{}, false
		}
		p.start, p.date = day.Unix(), [len(time.DateOnly)]byte(text)
	}
	hour, minute, second := twoDigits(text[11:]), twoDigits(text[14:]), twoDigits(text[17:])
	if hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	ns, ok := parseDecimals(text[timeLen-1 : len(text)-1])
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(p.start+int64(hour*3600+minute*60+second), ns).UTC(), true
}

// firstYear to lastYear are the years whose times are all valid event times.
const (
	firstYear = 1970
	lastYear  = 2261
)

// notDigits is larger than every number of two digits.
const notDigits = 100

// twoDigits returns the number in the first two bytes, or notDigits.
func twoDigits(text []byte) uint {
	tens, ones := text[0]-'0', text[1]-'0'
	if tens > 9 || ones > 9 {
		return notDigits
	}
	return uint(tens)*10 + uint(ones)
}

// parseDecimals parses the decimals of a second, as in .25, as nanoseconds. No text means 0.
func parseDecimals(text []byte) (ns int64, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	if text[0] != '.' || len(text) == 1 || len(text) > 10 {
		return 0, false
	}
	for i := 1; i < 10; i++ {
		ns *= 10
		if i < len(text) {
			d := text[i] - '0'
			if d > 9 {
				return 0, false
			}
			ns += int64(d)
		}
	}
	return ns, true
}
