package store

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/canonjson"
)

const (
	// maxStored limits varve.Verdict.Stored, in bytes.
	maxStored = 1 << 10
	// maxShown limits the fields in a message, in bytes. Above it, the message omits
	// fields that do not differ. maxMember limits each field.
	maxShown  = 160
	maxMember = 60
)

// Repeat returns the verdict on a reading whose series, time and id are stored already.
//
// A content id always gives a duplicate. An id of the client gives a conflict if the values
// differ.
func Repeat(sent, stored *varve.Reading) varve.Verdict {
	if sent.SameFields(stored) || !sent.HasOwnID() {
		return varve.Verdict{Outcome: varve.Duplicate}
	}
	v := varve.Reject(varve.CodeConflict, "id %s is stored with %s and was sent with %s: send another id",
		strconv.Quote(sent.ID.String()), showFields(stored, sent), showFields(sent, stored))
	if all := appendFields(nil, stored.Fields, maxStored); len(all) <= maxStored {
		v.Stored = string(all)
	}
	return v
}

// appendFields appends fields as a JSON object. It stops early once the object is longer than
// most.
func appendFields(dst []byte, fields []varve.Field, most int) []byte {
	dst = append(dst, '{')
	for i, f := range fields {
		if len(dst) > most {
			return dst
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMember(dst, f)
	}
	return append(dst, '}')
}

func appendMember(dst []byte, f varve.Field) []byte {
	dst = append(canonjson.AppendString(dst, f.Name), ':')
	if f.Value.Kind() == varve.KindString {
		return canonjson.AppendString(dst, f.Value.Text())
	}
	return append(dst, f.Value.String()...)
}

// showFields returns the fields of a reading for a message. For a long reading, it returns the
// fields in which the other reading differs, and … for the rest.
func showFields(r, other *varve.Reading) string {
	if all := appendFields(nil, r.Fields, maxShown); len(all) <= maxShown {
		return string(all)
	}
	var out []byte
	rest := ""
	for _, f := range r.Fields {
		if len(out) > maxShown || slices.ContainsFunc(other.Fields, f.Equal) {
			rest = ",…"
			continue
		}
		out = appendCut(append(out, ','), appendMember(nil, f))
	}
	return "{" + strings.TrimPrefix(string(out)+rest, ",") + "}"
}

// appendCut appends at most maxMember bytes of a text.
func appendCut(dst, text []byte) []byte {
	if len(text) <= maxMember {
		return append(dst, text...)
	}
	end := maxMember
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return append(append(dst, text[:end]...), "…"...)
}
