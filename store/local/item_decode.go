package local

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store"
)

// decodeItem parses JSON that appendItem wrote. It uses no reflection, so that roll-ups can read many items fast.
func decodeItem(k store.Key, data []byte) (*store.Item, error) {
	it := &store.Item{Key: k, Attrs: map[string]varve.Value{}}
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(data)
	if err := decodeMembers(d, it); err != nil {
		return nil, fmt.Errorf("item %s %s: %w", k.PK, k.SK, err)
	}
	return it, nil
}

func decodeMembers(d *jx.Decoder, it *store.Item) error {
	members, err := d.ObjIter()
	for err == nil && members.Next() {
		switch member := members.Key(); string(member) {
		case "gsi1":
			it.GSI1, err = decodeKey(d)
		case "gsi2":
			it.GSI2, err = decodeKey(d)
		case "expires":
			var sec int64
			sec, err = d.Int64()
			it.Expires = time.Unix(sec, 0).UTC()
		case "attrs":
			err = decodeAttrs(d, it.Attrs)
		default:
			err = fmt.Errorf("unknown member %s", member)
		}
	}
	return errors.Join(err, members.Err())
}

func decodeKey(d *jx.Decoder) (k store.Key, err error) {
	members, err := d.ObjIter()
	for err == nil && members.Next() {
		if string(members.Key()) == "SK" {
			k.SK, err = decodeString(d)
		} else {
			k.PK, err = decodeString(d)
		}
	}
	return k, errors.Join(err, members.Err())
}

func decodeAttrs(d *jx.Decoder, attrs map[string]varve.Value) error {
	members, err := d.ObjIter()
	for err == nil && members.Next() {
		name := string(members.Key())
		if attrs[name], err = decodeAttr(d); err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	return errors.Join(err, members.Err())
}

// decodeAttr parses a value by the letter of its kind.
func decodeAttr(d *jx.Decoder) (v varve.Value, err error) {
	members, err := d.ObjIter()
	for err == nil && members.Next() {
		var text string
		switch kind := members.Key(); string(kind) {
		case "b":
			var b bool
			b, err = d.Bool()
			v = varve.BoolValue(b)
		case "n":
			var n varve.Number
			if text, err = decodeString(d); err == nil {
				n, err = decimal.Parse(text)
			}
			v = varve.NumberValue(n)
		case "s":
			text, err = decodeString(d)
			v = varve.StringValue(text)
		case "j":
			text, err = decodeString(d)
			v = varve.CanonicalJSON(text)
		default:
			err = fmt.Errorf("unknown kind %s", kind)
		}
	}
	return v, errors.Join(err, members.Err())
}

// unescaped has the characters that a backslash and one letter stand for, by letter.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// decodeString parses a string. The decoder would parse a string with escapes byte by byte. The
// fields of roll-ups are long texts with tabs, so decodeString copies the text between the escapes.
func decodeString(d *jx.Decoder) (string, error) {
	if d.Next() != jx.String {
		return d.Str() // fails with the decoder's message
	}
	raw, err := d.Raw()
	if err != nil {
		return "", err
	}
	text := raw[1 : len(raw)-1]
	at := bytes.IndexByte(text, '\\')
	if at < 0 {
		return string(text), nil
	}
	var b strings.Builder
	b.Grow(len(text))
	for ; at >= 0; at = bytes.IndexByte(text, '\\') {
		c := unescaped[text[at+1]]
		if c == 0 {
			return jx.DecodeBytes(raw).Str()
		}
		b.Write(text[:at])
		b.WriteByte(c)
		text = text[at+2:]
	}
	b.Write(text)
	return b.String(), nil
}
