// Package topic converts MQTT messages to bodies of readings.
//
//	topic ──▶ Table.Resolve ──▶ Delivery: tenant, stream, device, format, body
//	            pattern, names      payload
//
// The main types:
//
//   - [Pattern] matches topics, and names their parts, as in sensors/{device}/{stream}.
//   - [Rule] is the configuration of a pattern: its payload, and the origin of stream and device.
//   - [Table] has the routes of a process. The first route whose pattern matches a topic applies.
//   - [Delivery] is a message as a body of readings.
//
// The conversion uses no clock, file or network. Only [Rule.Compile] may read a file, for a time
// zone. Equal messages give equal deliveries, so a retry stores the same readings.
//
// [Table.Resolve] fails with [ErrUnmatched] if no pattern matches. Its other errors are of type
// [Unreadable]. A retry fails, too. An invalid rule gives an error that names the field of the rule. A
// Table must not be changed while it is in use.
package topic
