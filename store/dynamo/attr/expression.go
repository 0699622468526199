package attr

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Expression builds an update or a condition. It replaces names and values with placeholders.
type Expression struct {
	sets, adds, removes []string
	names               map[string]string // names by placeholder
	placeholders        map[string]string // placeholders by name
	values              Item
}

// NewExpression returns an empty expression.
func NewExpression() *Expression {
	return &Expression{names: map[string]string{}, placeholders: map[string]string{}, values: Item{}}
}

// Name returns the placeholder for the name of an attribute or for the key of a map.
func (x *Expression) Name(of string) string {
	p := x.placeholders[of]
	if p == "" {
		p = "#" + strconv.FormatInt(int64(len(x.names)), 36)
		x.names[p], x.placeholders[of] = of, p
	}
	return p
}

// Value adds a value and returns its placeholder.
func (x *Expression) Value(av types.AttributeValue) string {
	p := ":" + strconv.FormatInt(int64(len(x.values)), 36)
	x.values[p] = av
	return p
}

// Set adds an assignment to the update. The target is an attribute or a map member, as
// placeholders.
func (x *Expression) Set(target string, av types.AttributeValue) {
	x.sets = append(x.sets, target+"="+x.Value(av))
}

// Add makes the update add a value to a number or a set. The target has the same form as for Set.
func (x *Expression) Add(target string, av types.AttributeValue) {
	x.adds = append(x.adds, target+" "+x.Value(av))
}

// Remove makes the update remove an attribute or a map member.
func (x *Expression) Remove(target string) { x.removes = append(x.removes, target) }

// Update returns the text of the update expression.
func (x *Expression) Update() string {
	var clauses []string
	for _, c := range []struct {
		verb  string
		parts []string
	}{{"SET ", x.sets}, {"ADD ", x.adds}, {"REMOVE ", x.removes}} {
		if len(c.parts) > 0 {
			clauses = append(clauses, c.verb+strings.Join(c.parts, ","))
		}
	}
	return strings.Join(clauses, " ")
}

// Placeholders returns the names and values of all placeholders. It returns nil for an empty map,
// because DynamoDB refuses empty maps.
func (x *Expression) Placeholders() (map[string]string, Item) {
	names, values := x.names, x.values
	if len(names) == 0 {
		names = nil
	}
	if len(values) == 0 {
		values = nil
	}
	return names, values
}
