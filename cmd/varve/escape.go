package main

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Devices can send text that controls a terminal. So control characters, and characters that hide
// or reverse text, are escaped as in JSON, such as \u001b.

// printable returns a text on one line, with unprintable characters escaped.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !harmless(r) }) {
		return s
	}
	var out []byte
	for _, r := range s {
		out = appendPrintable(out, r)
	}
	return string(out)
}

// harmless reports whether a terminal prints a character without another effect.
func harmless(r rune) bool {
	return r != utf8.RuneError && (unicode.IsPrint(r) || unicode.Is(unicode.Zs, r))
}

func appendPrintable(dst []byte, r rune) []byte {
	switch {
	case harmless(r):
		return utf8.AppendRune(dst, r)
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r == '\t':
		return append(dst, '\\', 't')
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return appendHex(appendHex(dst, high), low)
	default:
		return appendHex(dst, r)
	}
}

func appendHex(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// printer is a writer to a terminal. It escapes unprintable characters, except ends of lines and
// tabs.
type printer struct {
	w      io.Writer
	csv    bool   // whether the text is CSV, in which ends of lines in quoted cells are escaped
	quoted bool   // whether the next character is in a quoted cell
	rest   []byte // end of the previous text that was not written yet
	out    []byte
}

// Write implements io.Writer. If text ends with an incomplete character or a carriage return, the next
// call writes it.
func (p *printer) Write(text []byte) (int, error) {
	n := len(text)
	if len(p.rest) > 0 {
		text = append(p.rest, text...)
	}
	p.out = p.out[:0]
	for len(text) > 0 && (utf8.FullRune(text) || len(text) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\r' && len(text) == 1:
			p.rest = append([]byte(nil), text...)
			return n, p.flush()
		case r == '\r' && text[1] == '\n' && !p.quoted:
			p.out = append(p.out, '\r', '\n')
			size = 2
		case (r == '\n' || r == '\t') && !p.quoted:
			p.out = append(p.out, byte(r))
		default:
			p.quoted = p.csv && (r == '"') != p.quoted
			p.out = appendPrintable(p.out, r)
		}
		text = text[size:]
	}
	p.rest = append([]byte(nil), text...)
	return n, p.flush()
}

func (p *printer) flush() error {
	_, err := p.w.Write(p.out)
	return err
}
