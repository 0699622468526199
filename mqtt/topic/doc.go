// Package topic converts MQTT messages to bodies of readings. The conversion uses no clock, file or
// network. Only Rule.Compile may read a file, for a time zone.
//
//	topic ──▶ Table.Resolve ──▶ Delivery: tenant, stream, device, format, body
//	            pattern, names      payload
//
// The main types:
//
//   - Pattern matches topics, and names their parts, as in sensors/{device}/{stream}.
//   - Rule is the configuration of a pattern: its payload, and the origin of stream and device.
//   - Table has the rules of a process. The first rule whose pattern matches a topic applies.
package topic
