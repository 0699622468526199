package items

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// condition returns the text of a condition expression, or nil if conds is empty. In conditions, an
// expired item counts as missing.
func (s *Items) condition(x *attr.Expression, conds []store.Cond) (*string, error) {
	if len(conds) == 0 {
		return nil, nil
	}
	pk, ttl := x.Name(AttrPK), x.Name(AttrTTL)
	now := x.Value(&attr.Num{Value: strconv.FormatInt(s.now().Unix(), 10)})
	exists := fmt.Sprintf("(attribute_exists(%s) AND (attribute_not_exists(%s) OR %s > %s))", pk, ttl, ttl, now)
	var all []string
	for _, c := range conds {
		switch c.Op {
		case store.Absent:
			all = append(all, "(NOT "+exists+")")
		case store.Exists:
			all = append(all, exists)
		case store.Equals, store.Less:
			compared, err := comparison(x, c)
			if err != nil {
				return nil, err
			}
			all = append(all, "("+exists+" AND "+compared+")")
		}
	}
	return aws.String(strings.Join(all, " AND ")), nil
}

func comparison(x *attr.Expression, c store.Cond) (string, error) {
	av, _, err := attr.EncodeValue(c.Value)
	if err != nil {
		return "", err
	}
	op := "="
	if c.Op == store.Less {
		op = "<"
	}
	return x.Name(c.Attr) + op + x.Value(av), nil
}
