// Package attr converts values to DynamoDB attributes and back.
//
//	varve.Value   EncodeValue   attribute
//	attribute     DecodeValue   varve.Value, with the decimals that were written
//
// The package sends no requests. The main types and functions:
//
//   - [EncodeValue] and [DecodeValue] are the codec of values.
//   - [Expression] builds an update or a condition, with placeholders.
//   - [Size] returns the bytes that DynamoDB bills, approximately.
//   - [Item], [Map], [Num], [Set] and [Str] are short names for attribute types.
//
// Given the attribute and the decimals that EncodeValue returned, DecodeValue returns the original
// value. It fails for a malformed attribute. The functions have no state.
package attr

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type (
	// Item has the attributes of a row or of a registry item, by name.
	Item = map[string]types.AttributeValue
	// Map is a document attribute.
	Map = types.AttributeValueMemberM
	// Set is a string set.
	Set = types.AttributeValueMemberSS
	// Num is a number in decimal text.
	Num = types.AttributeValueMemberN
	// Str is a string attribute.
	Str = types.AttributeValueMemberS
)

// WholeNumber returns the whole number in an attribute, and whether the attribute exists. It
// fails if the attribute is not a whole number.
func WholeNumber(it Item, attr string) (n int64, exists bool, err error) {
	av, exists := it[attr]
	if !exists {
		return 0, false, nil
	}
	v, ok := av.(*Num)
	if !ok {
		return 0, true, fmt.Errorf("attribute %s is not a number", attr)
	}
	n, err = strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0, true, fmt.Errorf("attribute %s is %.40q, not a whole number", attr, v.Value)
	}
	return n, true, nil
}
