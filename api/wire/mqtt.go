package wire

import "time"

// MQTTBody is the state of the door for MQTT.
type MQTTBody struct {
	Client   *MQTTClient   `json:"client,omitempty" doc:"the client of a broker, if mqtt.url is set"`
	Listener *MQTTListener `json:"listener,omitempty" doc:"the listener for devices, if mqtt.listen is set"`
}

// MQTTClient is the state of the broker client.
type MQTTClient struct {
	URL         string       `json:"url"`
	ClientID    string       `json:"client_id"`
	Connected   bool         `json:"connected"`
	Protocol    string       `json:"protocol,omitempty" doc:"5 or 3.1.1"`
	Since       time.Time    `json:"since" doc:"when the connection was made or lost"`
	LastError   string       `json:"last_error,omitempty"`
	Connects    int64        `json:"connects"`
	Messages    int64        `json:"messages" doc:"received since the start of the process"`
	LastMessage *time.Time   `json:"last_message,omitempty"`
	Topics      []string     `json:"topics" doc:"the subscriptions"`
	Share       string       `json:"share,omitempty"`
	Dropped     *MQTTDropped `json:"dropped,omitempty" doc:"missing if the broker does not report it"`
}

// MQTTDropped has the numbers of dropped messages that a broker reports.
type MQTTDropped struct {
	Total int64      `json:"total" doc:"since the start of the broker"`
	Seen  int64      `json:"seen" doc:"since the first report to this process"`
	Last  *time.Time `json:"last,omitempty" doc:"when the number last rose"`
}

// MQTTListener is the state of the listener.
type MQTTListener struct {
	Listen      string `json:"listen"`
	TLS         bool   `json:"tls"`
	Connections int64  `json:"connections"`
}
