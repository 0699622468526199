package local

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

func itemKey(k store.Key) []byte {
	return appendKey(append(make([]byte, 0, keySize(k)), spaceItem), k)
}

func indexKey(ix store.Index, in, k store.Key) []byte {
	return appendIndexKey(make([]byte, 0, keySize(in)+keySize(k)), ix, in, k)
}

func appendIndexKey(dst []byte, ix store.Index, in, k store.Key) []byte {
	return appendKey(appendKey(append(dst, indexSpace(ix)), in), k)
}

// keySize returns the encoded size of a key. It assumes that the key has no zero bytes.
func keySize(k store.Key) int { return 1 + len(k.PK) + len(k.SK) + 4 }

func appendKey(dst []byte, k store.Key) []byte { return appendPart(appendPart(dst, k.PK), k.SK) }

func indexSpace(ix store.Index) byte {
	if ix == store.GSI1 {
		return spaceGSI1
	}
	return spaceGSI2
}

// appendItem appends the JSON that Pebble stores for an item.
//
// The members are gsi1, gsi2, expires in Unix seconds, and attrs. An attribute is an object with
// one member: the first letter of its kind, with the value. appendItem uses an encoder only for texts with
// special characters, because alerts and roll-ups write many items in one batch.
func appendItem(dst []byte, it *store.Item) (_ []byte, err error) {
	dst = append(dst, '{')
	if !it.GSI1.IsZero() {
		dst = appendItemKey(append(dst, `"gsi1":`...), it.GSI1)
	}
	if !it.GSI2.IsZero() {
		dst = appendItemKey(append(dst, `"gsi2":`...), it.GSI2)
	}
	if !it.Expires.IsZero() {
		dst = append(strconv.AppendInt(append(dst, `"expires":`...), it.Expires.Unix(), 10), ',')
	}
	if len(it.Attrs) > 0 {
		dst = append(dst, `"attrs":{`...)
		for name, v := range it.Attrs {
			if dst, err = appendAttr(append(appendJSON(dst, name), ':'), v); err != nil {
				return dst, fmt.Errorf("item %s %s: attribute %s: %w", it.PK, it.SK, name, err)
			}
		}
		dst = append(dst[:len(dst)-1], '}', ',')
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}'), nil
}

// appendItemKey appends a key and a comma.
func appendItemKey(dst []byte, k store.Key) []byte {
	dst = appendJSON(append(dst, `{"PK":`...), k.PK)
	return append(appendJSON(append(dst, `,"SK":`...), k.SK), '}', ',')
}

var errNoValue = errors.New("the value is missing")

// appendAttr appends a value and a comma.
func appendAttr(dst []byte, v varve.Value) ([]byte, error) {
	switch v.Kind() {
	case varve.KindNumber:
		dst = append(v.Number().Append(append(dst, `{"n":"`...)), '"')
	case varve.KindString:
		dst = appendJSON(append(dst, `{"s":`...), v.Text())
	case varve.KindJSON:
		dst = appendJSON(append(dst, `{"j":`...), v.Text())
	case varve.KindBool:
		dst = strconv.AppendBool(append(dst, `{"b":`...), v.Bool())
	default:
		return dst, errNoValue
	}
	return append(dst, '}', ','), nil
}

func appendJSON(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			var w jx.Writer
			w.Str(text)
			return append(dst, w.Buf...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
