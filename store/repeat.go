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
	// maxStored is the largest size of varve.Verdict.Stored in bytes.
	maxStored = 1 << 10
	// maxShown limits the fields of a reading in a message, in bytes. If the fields are longer, only the
	// differing fields are shown. Then maxMember limits the text of each field, in bytes.
	maxShown  = 160
	maxMember = 60
)

// Repeat returns the verdict on a sent reading, given the stored reading with the same series, time
// and id.
//
// If the id is a content id or the fields are equal, the verdict is duplicate. Otherwise it is a
// conflict. Versions of an id are different ids.
func Repeat(sent, stored *varve.Reading) varve.Verdict {
	if sent.SameFields(stored) || !sent.HasOwnID() {
		return varve.Verdict{Outcome: varve.Duplicate}
	}
	of, remedy := "id "+strconv.Quote(sent.ID.String()), "another id"
	if version := sent.ID.Version(); version > 0 {
		of, remedy = "version "+strconv.FormatUint(uint64(version), 10)+" of "+of, "a higher version"
	}
	v := varve.Reject(varve.CodeConflict, "%s is stored with %s and was sent with %s: send %s",
		of, showFields(stored, sent), showFields(sent, stored), remedy)
	if all := appendFields(nil, stored.Fields, maxStored); len(all) <= maxStored {
		v.Stored = string(all)
	}
	return v
}

// appendFields appends fields as a JSON object. It stops before the next field if dst has more than
// "most" bytes.
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

// showFields formats the fields of a reading for a message. If their text is long, the result has only
// fields that differ from the other reading, and … stands for the rest.
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

// appendCut appends a text, cut to about maxMember bytes.
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
