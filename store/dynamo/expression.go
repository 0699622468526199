package dynamo

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expression is the text of an update or a condition, with its names and values.
type expression struct {
	sets, adds, removes []string
	names               map[string]string // by placeholder
	placeholders        map[string]string // by name
	values              item
}

func newExpression() *expression {
	return &expression{names: map[string]string{}, placeholders: map[string]string{}, values: item{}}
}

// name returns the placeholder of an attribute or map key.
func (x *expression) name(of string) string {
	p := x.placeholders[of]
	if p == "" {
		p = "#" + strconv.FormatInt(int64(len(x.names)), 36)
		x.names[p], x.placeholders[of] = of, p
	}
	return p
}

func (x *expression) value(av types.AttributeValue) string {
	p := ":" + strconv.FormatInt(int64(len(x.values)), 36)
	x.values[p] = av
	return p
}

func (x *expression) set(target string, av types.AttributeValue) {
	x.sets = append(x.sets, target+"="+x.value(av))
}

// size sets what a row says of its size.
func (x *expression) size(bytes int) {
	x.set(x.name(attrSize), &numV{Value: strconv.Itoa(bytes)})
}

// removal removes an attribute, if so.
func (x *expression) removal(attr string, so bool) {
	if so {
		x.removes = append(x.removes, x.name(attr))
	}
}

// text returns the update.
func (x *expression) text() string {
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

// used returns the names and values, or nil where there are none.
func (x *expression) used() (map[string]string, item) {
	names, values := x.names, x.values
	if len(names) == 0 {
		names = nil
	}
	if len(values) == 0 {
		values = nil
	}
	return names, values
}
