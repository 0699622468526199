package items

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// Key returns the key attributes of an item.
func Key(k store.Key) attr.Item {
	return attr.Item{AttrPK: &attr.Str{Value: k.PK}, AttrSK: &attr.Str{Value: k.SK}}
}

func encode(it *store.Item) (attr.Item, error) {
	out := attr.Item{}
	for _, ix := range indexes {
		if in := it.In(ix); !in.IsZero() {
			names := indexOf(ix)
			out[names.PK], out[names.SK] = &attr.Str{Value: in.PK}, &attr.Str{Value: in.SK}
		}
	}
	if !it.Expires.IsZero() {
		out[AttrTTL] = &attr.Num{Value: strconv.FormatInt(it.Expires.Unix(), 10)}
	}
	for name, v := range it.Attrs {
		if slices.Contains(reserved, name) {
			return nil, fmt.Errorf("item %s %s: attribute %s is reserved", it.PK, it.SK, name)
		}
		av, _, err := attr.EncodeValue(v)
		if err != nil {
			return nil, fmt.Errorf("item %s %s: attribute %s: %w", it.PK, it.SK, name, err)
		}
		out[name] = av
	}
	return out, nil
}

func decode(in attr.Item) (store.Item, error) {
	it := store.Item{Attrs: map[string]varve.Value{}}
	keys := map[string]*string{
		AttrPK: &it.PK, AttrSK: &it.SK, "gsi1pk": &it.GSI1.PK, "gsi1sk": &it.GSI1.SK, "gsi2pk": &it.GSI2.PK, "gsi2sk": &it.GSI2.SK,
	}
	for name, av := range in {
		if key := keys[name]; key != nil {
			s, ok := av.(*attr.Str)
			if !ok {
				return it, fmt.Errorf("item: attribute %s is not a string", name)
			}
			*key = s.Value
			continue
		}
		if name == AttrTTL {
			sec, _, err := attr.WholeNumber(in, name)
			if err != nil {
				return it, fmt.Errorf("item: %w", err)
			}
			it.Expires = time.Unix(sec, 0).UTC()
			continue
		}
		v, err := attr.DecodeValue(av, -1)
		if err != nil {
			return it, fmt.Errorf("item: attribute %s: %w", name, err)
		}
		it.Attrs[name] = v
	}
	return it, nil
}
