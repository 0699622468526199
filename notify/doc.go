// Package notify delivers the opening and the resolution of alerts to other systems.
//
//	alerts ── outbox ──▶ Sender ── Route ── record ──▶ queue per notifier ──▶ Notifier
//	 (entry names the     (one process,   (deliveries   (order, back-off,       webhook
//	  changed alert)       by lease)       and messages) digests)               alertmanager …
//
// The main types:
//
//   - [Sender] compares changed alerts with the delivered state, and sends messages.
//   - [Message] states that an alert opened or was resolved, or counts late alerts.
//   - [Notifier] sends messages to one system. Its kinds are [Webhook] and [Alertmanager], and
//     others in sub-packages.
//   - [Route] selects the alerts of a notifier.
//   - [Delivery] is the state of one message for one notifier.
//
// Every opening and resolution is delivered at least once to each notifier whose route selects the
// alert, with these exceptions:
//
//   - The opening is muted, or the late alerts of its rule are silent.
//   - A reported alert changes and changes back between two reads of the outbox.
//   - The message fails permanently: see [GiveUp], [GiveUpRefused] and [Gone].
//
// Each message has an id, which is the same in every attempt, so that receivers can drop copies.
//
// The [Fault] of a failed attempt decides whether and for how long the message is retried. One notifier
// that fails does not delay the others. If the process dies, another one acquires the lease and continues
// from the records. A Notifier must be safe for concurrent use.
package notify
