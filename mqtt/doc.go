// Package mqtt is the door for MQTT: it stores the readings of messages.
//
//	broker  ──▶ Client   ──┐
//	                       ├──▶ Receiver: topic.Table, ingest.Session ──▶ verdicts
//	devices ──▶ Listener ──┘
//
// The main types:
//
//   - [Receiver] stores the readings of one message, and returns a [Result].
//   - [Client] subscribes at a broker of the user.
//   - [Listener] accepts connections of devices. [KeyChecker] checks their keys.
//
// These rules always hold:
//
//   - A message of QoS 1 is acknowledged as stored only after its readings are durable.
//   - Messages of one connection are acknowledged in the order in which they arrived.
//   - A message that can never be stored becomes a reject, and is then acknowledged. Otherwise the
//     sender would resend it forever. A reject beyond the limit of stored rejects is discarded.
//   - A message of QoS 1 that cannot be stored now is not acknowledged, and its connection is
//     closed after the time Patience. Then the sender or the broker resends the message.
//
// If the readings of a resent message are stored already, they are duplicates, unless their event time is
// the arrival of the message. A Client reconnects until [Client.Close]. After an error of
// [Receiver.Receive], a retry must have the same arrival. A Receiver is safe for concurrent use.
package mqtt
