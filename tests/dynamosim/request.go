package dynamosim

import (
	"github.com/go-faster/jx"
	"github.com/varvedb/varve/tests/dynamosim/expr"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// request has the parameters of an operation on items.
type request struct {
	table, index               string
	item, key, start           value.Item
	condition, update          string
	keyRange, filter, projects string
	scope                      expr.Scope
	returns, returnsOnFailure  string
	capacity, selects          string
	limit                      int
	backward, consistent       bool
	segment, segments          int
	batch                      []batchTable
}

// batchTable has the requests of a batch for one table.
type batchTable struct {
	name  string
	puts  []batchWrite // puts and deletions of BatchWriteItem
	reads *request     // parameters of the reads of BatchGetItem
	keys  []value.Item
}

// batchWrite is a put of item, or a deletion of key if item is nil.
type batchWrite struct {
	item, key value.Item
	raw       []byte // JSON of the write in the request
}

// texts has, for each parameter of type string, a function that returns a pointer to the field of
// a request.
var texts = map[string]func(*request) *string{
	"TableName":                           func(r *request) *string { return &r.table },
	"IndexName":                           func(r *request) *string { return &r.index },
	"ConditionExpression":                 func(r *request) *string { return &r.condition },
	"UpdateExpression":                    func(r *request) *string { return &r.update },
	"KeyConditionExpression":              func(r *request) *string { return &r.keyRange },
	"FilterExpression":                    func(r *request) *string { return &r.filter },
	"ProjectionExpression":                func(r *request) *string { return &r.projects },
	"ReturnValues":                        func(r *request) *string { return &r.returns },
	"ReturnValuesOnConditionCheckFailure": func(r *request) *string { return &r.returnsOnFailure },
	"ReturnConsumedCapacity":              func(r *request) *string { return &r.capacity },
	"Select":                              func(r *request) *string { return &r.selects },
}

// numbers has, for each integer parameter, a function that returns a pointer to the field of a request.
var numbers = map[string]func(*request) *int{
	"Limit":         func(r *request) *int { return &r.limit },
	"Segment":       func(r *request) *int { return &r.segment },
	"TotalSegments": func(r *request) *int { return &r.segments },
}

// legacy lists the parameters that expressions replaced. Requests with these parameters are
// rejected.
var legacy = map[string]bool{
	"AttributesToGet": true, "AttributeUpdates": true, "Expected": true, "ConditionalOperator": true,
	"KeyConditions": true, "QueryFilter": true, "ScanFilter": true,
}

func decodeRequest(body []byte) (*request, error) {
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(body)
	r := &request{}
	return r, d.ObjBytes(r.decode)
}

func (r *request) decode(d *jx.Decoder, key []byte) (err error) {
	if d.Next() == jx.Null {
		return d.Null()
	}
	if text := texts[string(key)]; text != nil {
		*text(r), err = d.Str()
		return err
	}
	if number := numbers[string(key)]; number != nil {
		*number(r), err = d.Int()
		return err
	}
	switch name := string(key); name {
	case "Item":
		r.item, err = value.DecodeItem(d)
	case "Key":
		r.key, err = value.DecodeItem(d)
	case "ExclusiveStartKey":
		r.start, err = value.DecodeItem(d)
	case "ConsistentRead":
		r.consistent, err = d.Bool()
	case "ScanIndexForward":
		r.backward, err = d.Bool()
		r.backward = !r.backward
	case "ExpressionAttributeNames":
		r.scope.Names, err = decodeNames(d)
	case "ExpressionAttributeValues":
		r.scope.Values, err = decodeValues(d)
	case "RequestItems":
		err = d.Obj(r.decodeBatch)
	default:
		if legacy[name] {
			return invalid("The parameter %s is not supported by the stand-in: use expressions", name)
		}
		return d.Skip()
	}
	return err
}

func decodeNames(d *jx.Decoder) (map[string]string, error) {
	names := map[string]string{}
	return names, d.Obj(func(d *jx.Decoder, key string) (err error) {
		names[key], err = d.Str()
		return err
	})
}

func decodeValues(d *jx.Decoder) (map[string]value.Value, error) {
	values := map[string]value.Value{}
	return values, d.Obj(func(d *jx.Decoder, key string) error {
		v, err := value.Decode(d)
		if err != nil {
			if rule, ok := err.(value.Invalid); ok { //nolint:errorlint // Decode never wraps it
				err = invalid("ExpressionAttributeValues contains invalid value: %s for key %s", rule, key)
			}
			return err
		}
		values[key] = v
		return nil
	})
}

// decodeBatch decodes the part of a batch request for one table.
func (r *request) decodeBatch(d *jx.Decoder, name string) error {
	b := batchTable{name: name}
	var err error
	if d.Next() == jx.Array {
		err = d.Arr(func(d *jx.Decoder) error { return b.decodeWrite(d) })
	} else {
		b.reads = &request{}
		err = d.ObjBytes(func(d *jx.Decoder, key []byte) error {
			if string(key) != "Keys" {
				return b.reads.decode(d, key)
			}
			return d.Arr(func(d *jx.Decoder) error {
				k, err := value.DecodeItem(d)
				b.keys = append(b.keys, k)
				return err
			})
		})
	}
	r.batch = append(r.batch, b)
	return err
}

func (b *batchTable) decodeWrite(d *jx.Decoder) error {
	raw, err := d.Raw()
	if err != nil {
		return err
	}
	w := batchWrite{raw: append([]byte(nil), raw...)}
	one := jx.GetDecoder()
	defer jx.PutDecoder(one)
	one.ResetBytes(w.raw)
	err = one.Obj(func(d *jx.Decoder, kind string) error {
		return d.Obj(func(d *jx.Decoder, key string) (err error) {
			switch kind + key {
			case "PutRequestItem":
				w.item, err = value.DecodeItem(d)
			case "DeleteRequestKey":
				w.key, err = value.DecodeItem(d)
			default:
				err = d.Skip()
			}
			return err
		})
	})
	b.puts = append(b.puts, w)
	return err
}
