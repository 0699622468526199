package wire

import "time"

// DeliveryBody is the state of one message about an alert for one notifier.
type DeliveryBody struct {
	Alert     string     `json:"alert" doc:"the alert's id"`
	Device    string     `json:"device"`
	Rule      string     `json:"rule"`
	Severity  string     `json:"severity" enum:"info,warning,critical"`
	Type      string     `json:"type" enum:"alert.opened,alert.resolved"`
	Notifier  string     `json:"notifier" doc:"the notifier's name"`
	State     string     `json:"state" enum:"pending,delivered,failed,silent" doc:"silent: nothing is sent, because the late alerts of the rule are silent"`
	Message   string     `json:"message" doc:"the message's id, which is also its idempotency key"`
	Digest    string     `json:"digest,omitempty" doc:"id of the digest that counts the message; absent if it is sent alone"`
	EventTime time.Time  `json:"event_time"`
	QueuedAt  time.Time  `json:"queued_at"`
	NextAt    *time.Time `json:"next_at,omitempty" doc:"time of the next attempt; absent if the delivery has ended"`
	EndedAt   *time.Time `json:"ended_at,omitempty" doc:"absent if the delivery is pending"`
	Attempts  int        `json:"attempts" doc:"attempts so far; those for a digest are counted when it ends"`
	Error     string     `json:"error,omitempty" doc:"of the last attempt; absent if it succeeded"`
}

// DeliveryList is a page of deliveries.
type DeliveryList struct {
	Deliveries []DeliveryBody `json:"deliveries" doc:"may be empty although more pages follow"`
	Next       string         `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
}
