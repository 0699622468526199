package items

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
)

// Names of the attributes with the primary key and the expiry of an item.
const (
	AttrPK  = "pk"
	AttrSK  = "sk"
	AttrTTL = "ttl" // in seconds since 1970
)

// reserved are the attributes that items cannot use for their own values.
var reserved = []string{AttrPK, AttrSK, AttrTTL, "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"}

// indexes are the indexes of the registry. The primary index is the first.
var indexes = []store.Index{store.Primary, store.GSI1, store.GSI2}

// Index is an index of the registry. The primary index has no name. All keys are strings, and
// secondary indexes contain whole items.
type Index struct{ Name, PK, SK string }

// Indexes returns the indexes of the registry. The primary index is the first.
func Indexes() []Index {
	all := make([]Index, 0, len(indexes))
	for _, ix := range indexes {
		all = append(all, indexOf(ix))
	}
	return all
}

func indexOf(ix store.Index) Index {
	switch ix {
	case store.GSI1:
		return Index{"gsi1", "gsi1pk", "gsi1sk"}
	case store.GSI2:
		return Index{"gsi2", "gsi2pk", "gsi2sk"}
	default:
		return Index{"", AttrPK, AttrSK}
	}
}

// checkSchema fails if a table does not have the key schema of a registry.
func checkSchema(d *types.TableDescription) error {
	keysOf := func(keys []types.KeySchemaElement) string {
		var names []string
		for _, k := range keys {
			names = append(names, aws.ToString(k.AttributeName))
		}
		return strings.Join(names, ", ")
	}
	found := map[string]string{"": keysOf(d.KeySchema)}
	for _, ix := range d.GlobalSecondaryIndexes {
		found[aws.ToString(ix.IndexName)] = keysOf(ix.KeySchema)
	}
	for _, ix := range Indexes() {
		subject := "its keys"
		if ix.Name != "" {
			subject = "the keys of its index " + ix.Name
		}
		if want := ix.PK + ", " + ix.SK; found[ix.Name] != want {
			return fmt.Errorf("%s are %q, not %q: name another table with store.registry, or let varve create one", subject, found[ix.Name], want)
		}
	}
	return nil
}
