// Package snippet appends short texts that recur, such as the names of fields.
package snippet

// shortLen is the maximum length of a text that AppendTo copies fast.
const shortLen = 32

// Snippet is a text that is appended repeatedly. The zero Snippet is empty.
type Snippet struct {
	n     int // length of the text
	short [shortLen]byte
	long  []byte // the text, if it does not fit into short
}

// Of returns a snippet with a copy of the text.
func Of(text []byte) Snippet {
	s := Snippet{n: len(text)}
	if copy(s.short[:], text) < len(text) {
		s.long = append(s.long, text...)
	}
	return s
}

// AppendTo appends the text to dst. It may overwrite bytes between the length and the capacity of the
// result, because copies of a constant size are faster than others.
func (s *Snippet) AppendTo(dst []byte) []byte {
	n := len(dst)
	switch {
	case s.n > shortLen:
		return append(dst, s.long...)
	case cap(dst)-n < shortLen:
		return append(dst, s.short[:s.n]...)
	}
	*(*[shortLen]byte)(dst[n : n+shortLen]) = s.short
	return dst[:n+s.n]
}
