package streams

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

func (s *Stream) item(k id) (*store.Item, error) {
	classes, err := encode(s.Classes)
	if err != nil {
		return nil, err
	}
	it := &store.Item{Key: k.key(), Attrs: map[string]varve.Value{
		attrClasses: classes,
		attrVersion: varve.IntValue(s.version),
	}}
	if s.Window > time.Millisecond {
		it.Attrs[attrWindow] = varve.IntValue(s.Window.Milliseconds())
	}
	if len(s.Shards) > 0 {
		if it.Attrs[attrShards], err = encode(s.Shards); err != nil {
			return nil, err
		}
	}
	return it, nil
}

func encode(v any) (varve.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return varve.Value{}, err
	}
	return varve.JSONValue(text)
}

func decode(k id, it *store.Item) (Stream, error) {
	s := Stream{Tenant: k.tenant, Name: k.stream, version: 1}
	for _, part := range []struct {
		attr string
		into any
	}{{attrClasses, &s.Classes}, {attrShards, &s.Shards}} {
		v, there := it.Attrs[part.attr]
		if !there {
			continue
		}
		if err := json.Unmarshal([]byte(v.Text()), part.into); err != nil {
			return s, fmt.Errorf("item %s %s: %s: %w", it.PK, it.SK, part.attr, err)
		}
	}
	if v, there := it.Attrs[attrVersion]; there {
		version, ok := v.Int()
		if !ok {
			return s, fmt.Errorf("item %s %s: %s is %s", it.PK, it.SK, attrVersion, v)
		}
		s.version = version
	}
	if v, there := it.Attrs[attrWindow]; there {
		ms, ok := v.Int()
		s.Window = time.Duration(ms) * time.Millisecond
		if err := (store.Layout{RowWindow: s.Window}).Validate(); !ok || err != nil {
			return s, fmt.Errorf("item %s %s: %s is %s", it.PK, it.SK, attrWindow, v)
		}
	}
	return s, nil
}
