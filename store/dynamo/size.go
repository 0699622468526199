package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
)

// Sizes are those that DynamoDB bills, about. Source: Amazon DynamoDB developer
// guide, "DynamoDB item sizes and formats".
const (
	mapOverhead     = 3
	elementOverhead = 1
	numberBytes     = 21 // at the most
)

// sizeOf returns the size of an item.
func sizeOf(it item) (n int) {
	for name, av := range it {
		n += len(name) + sizeOfValue(av)
	}
	return n
}

func sizeOfValue(av types.AttributeValue) (n int) {
	switch av := av.(type) {
	case *numV:
		return min(len(av.Value)/2+2, numberBytes)
	case *strV:
		return len(av.Value)
	case *types.AttributeValueMemberB:
		return len(av.Value)
	case *setV:
		for _, s := range av.Value {
			n += len(s)
		}
		return n
	case *mapV:
		n = mapOverhead
		for name, member := range av.Value {
			n += len(name) + sizeOfValue(member) + elementOverhead
		}
		return n
	case *types.AttributeValueMemberL:
		n = mapOverhead
		for _, element := range av.Value {
			n += sizeOfValue(element) + elementOverhead
		}
		return n
	default:
		return 1
	}
}

// sizeOfReading returns what a reading adds to a row at the most.
func sizeOfReading(r *varve.Reading, key string) int {
	return r.Size() + (len(r.Fields)+2)*(len(key)+elementOverhead+numberBytes)
}
