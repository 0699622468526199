package topic

import (
	"github.com/go-faster/jx"
)

// convertThingsBoard converts telemetry of ThingsBoard into readings. The telemetry is {"k":v},
// {"ts":ms,"values":{…}}, or an array of such objects.
func convertThingsBoard(_ *Route, d *Delivery, _ string) error {
	b := builder{}
	if !jx.Valid(d.Body) {
		return malformed("the payload is not telemetry of ThingsBoard: it is not JSON")
	}
	if err := b.telemetry("", d.Body); err != nil {
		return malformed("the payload is not telemetry of ThingsBoard: %s", err)
	}
	d.Body = b.out
	return nil
}

// convertGateway makes readings of a gateway's telemetry: an object with an array of telemetry for
// each device.
func convertGateway(_ *Route, d *Delivery, _ string) error {
	b := builder{}
	if !jx.Valid(d.Body) {
		return malformed("the payload is not telemetry of a gateway: it is not JSON")
	}
	err := jx.DecodeBytes(d.Body).ObjBytes(func(dec *jx.Decoder, key []byte) error {
		raw, err := dec.Raw()
		if err != nil {
			return err
		}
		return b.telemetry(string(key), raw)
	})
	if err != nil {
		return malformed("the payload is not telemetry of a gateway: %s", err)
	}
	d.Body = b.out
	return nil
}

func (b *builder) telemetry(device string, text []byte) error {
	dec := jx.DecodeBytes(text)
	one := func(d *jx.Decoder) error {
		raw, err := d.Raw()
		if err != nil {
			return err
		}
		return b.telemetryObject(device, raw)
	}
	if dec.Next() == jx.Array {
		return dec.Arr(one)
	}
	return one(dec)
}

func (b *builder) telemetryObject(device string, raw jx.Raw) error {
	at, timed := rawAt(raw, []string{"ts"})
	values, nested := rawAt(raw, []string{"values"})
	if !timed || !nested || values.Type() != jx.Object {
		at, values = nil, raw
	}
	b.begin(device, at)
	if err := jx.DecodeBytes(values).ObjBytes(func(d *jx.Decoder, key []byte) error {
		value, err := d.Raw()
		if err == nil {
			b.field(string(key), value)
		}
		return err
	}); err != nil {
		return err
	}
	b.end()
	return nil
}
