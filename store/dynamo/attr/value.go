package attr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// EncodeValue returns the attribute of a value. DynamoDB drops trailing zeros after a decimal
// point. If the value has such zeros, decimals is the number of its decimals, zeros included.
// Otherwise it is -1.
func EncodeValue(v varve.Value) (av types.AttributeValue, decimals int, err error) {
	switch v.Kind() {
	case varve.KindNumber:
		n := v.Number()
		return &types.AttributeValueMemberN{Value: n.Canonical().String()}, lostDecimals(n), nil
	case varve.KindString:
		return &types.AttributeValueMemberS{Value: v.Text()}, -1, nil
	case varve.KindBool:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}, -1, nil
	case varve.KindJSON:
		av, err = encodeJSON(v.Text())
		if errors.Is(err, errEmptyName) { // DynamoDB refuses members with an empty name
			return &types.AttributeValueMemberB{Value: []byte(v.Text())}, -1, nil
		}
		return av, -1, err
	default:
		return nil, -1, fmt.Errorf("value of kind %s cannot be stored", v.Kind())
	}
}

// lostDecimals returns the number of decimals with which a number was written, if DynamoDB drops
// some of them. Otherwise it returns -1.
func lostDecimals(n varve.Number) int {
	_, _, _, written := n.Parts()
	_, _, _, kept := n.Canonical().Parts()
	if written >= 0 || written == kept {
		return -1
	}
	return -written
}

// DecodeValue returns the value of an attribute. If decimals is not negative, a number is
// returned with that many decimals.
func DecodeValue(av types.AttributeValue, decimals int) (varve.Value, error) {
	switch av := av.(type) {
	case *types.AttributeValueMemberN:
		n, err := decodeNumber(av.Value, decimals)
		return varve.NumberValue(n), err
	case *types.AttributeValueMemberS:
		return varve.StringValue(av.Value), nil
	case *types.AttributeValueMemberBOOL:
		return varve.BoolValue(av.Value), nil
	case *types.AttributeValueMemberB:
		return varve.JSONValue(av.Value)
	case *types.AttributeValueMemberM, *types.AttributeValueMemberL:
		var text bytes.Buffer
		if err := appendJSON(&text, av); err != nil {
			return varve.Value{}, err
		}
		return varve.JSONValue(text.Bytes())
	default:
		return varve.Value{}, fmt.Errorf("attribute of type %T is not a value", av)
	}
}

// decodeNumber parses a number. If decimals is not negative, it restores that many decimals.
func decodeNumber(text string, decimals int) (varve.Number, error) {
	n, err := decimal.Parse(text)
	if err != nil {
		return n, fmt.Errorf("number %.60q: %w", text, err)
	}
	c := n.Canonical() // emulators may append zeros
	if decimals < 0 {
		return c, nil
	}
	neg, hi, lo, exp := c.Parts()
	if c.IsZero() {
		return decimal.Parse("0e-" + strconv.Itoa(decimals))
	}
	if exp+decimals < 0 || exp+decimals > decimal.MaxDigits {
		return n, fmt.Errorf("number %.60q cannot have %d decimals", text, decimals)
	}
	coefficient, err := decimal.New(neg, hi, lo, 0)
	if err != nil {
		return n, err
	}
	return decimal.Parse(coefficient.String() + strings.Repeat("0", exp+decimals) + "e-" + strconv.Itoa(decimals))
}

func encodeJSON(text string) (types.AttributeValue, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return document(v)
}

// errEmptyName means that a JSON object has a member with an empty name.
var errEmptyName = errors.New("a name is empty")

func document(v any) (av types.AttributeValue, err error) {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]types.AttributeValue, len(v))
		for name, member := range v {
			if name == "" {
				return nil, errEmptyName
			}
			if m[name], err = document(member); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	case []any:
		l := make([]types.AttributeValue, len(v))
		for i, element := range v {
			if l[i], err = document(element); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: l}, nil
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}, nil
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	default:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
}

// appendJSON appends the canonical JSON text of a document.
func appendJSON(b *bytes.Buffer, av types.AttributeValue) error {
	switch av := av.(type) {
	case *types.AttributeValueMemberM:
		b.WriteByte('{')
		names := make([]string, 0, len(av.Value))
		for name := range av.Value {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			quoted, err := json.Marshal(name)
			if err != nil {
				return err
			}
			b.Write(quoted)
			b.WriteByte(':')
			if err := appendJSON(b, av.Value[name]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case *types.AttributeValueMemberL:
		b.WriteByte('[')
		for i, element := range av.Value {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := appendJSON(b, element); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case *types.AttributeValueMemberN:
		n, err := decimal.Parse(av.Value)
		if err != nil {
			return fmt.Errorf("number %.60q: %w", av.Value, err)
		}
		b.Write(n.Append(nil))
	case *types.AttributeValueMemberS:
		quoted, err := json.Marshal(av.Value)
		if err != nil {
			return err
		}
		b.Write(quoted)
	case *types.AttributeValueMemberBOOL:
		b.WriteString(strconv.FormatBool(av.Value))
	case *types.AttributeValueMemberNULL:
		b.WriteString("null")
	default:
		return fmt.Errorf("attribute of type %T is not JSON", av)
	}
	return nil
}
