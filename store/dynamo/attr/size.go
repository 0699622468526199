package attr

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// These sizes approximate the sizes that DynamoDB bills. Source: Amazon DynamoDB developer guide,
// "DynamoDB item sizes and formats".
const (
	MapOverhead     = 3
	ElementOverhead = 1
	NumberBytes     = 21 // the largest size of a number in bytes
)

// Size returns the size of an item in bytes.
func Size(it Item) (n int) {
	for name, av := range it {
		n += len(name) + SizeOfValue(av)
	}
	return n
}

// SizeOfValue returns the size of an attribute without its name.
func SizeOfValue(av types.AttributeValue) (n int) {
	switch av := av.(type) {
	case *Num:
		return min(len(av.Value)/2+2, NumberBytes)
	case *Str:
		return len(av.Value)
	case *types.AttributeValueMemberB:
		return len(av.Value)
	case *Set:
		for _, s := range av.Value {
			n += len(s)
		}
		return n
	case *Map:
		n = MapOverhead
		for name, member := range av.Value {
			n += len(name) + SizeOfValue(member) + ElementOverhead
		}
		return n
	case *types.AttributeValueMemberL:
		n = MapOverhead
		for _, element := range av.Value {
			n += SizeOfValue(element) + ElementOverhead
		}
		return n
	default:
		return 1
	}
}
