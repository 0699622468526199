package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/mqtt"
	"github.com/varvedb/varve/store/dynamo"
)

func mqttCommand(a *app) *cobra.Command {
	return group("mqtt", "Show the state of MQTT", mqttStatusCommand(a))
}

func mqttStatusCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Show the connections of MQTT, and dropped messages", Args: cobra.NoArgs,
		Long: "Show the client of the broker and the listener for devices. A broker drops messages that it cannot send fast enough,\n" +
			"although it has acknowledged them to their senders. If the broker reports the number of dropped messages, the output has it.\n" +
			"docs/mqtt.md has the settings that prevent drops.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			body, err := c.MQTT(cmd.Context())
			if err != nil {
				return err
			}
			g := listing{header: []string{"what", "value"}, empty: "MQTT is off: set mqtt.url or mqtt.listen, see docs/mqtt.md."}
			addMQTTClient(&g, body.Client)
			if l := body.Listener; l != nil {
				g.add("listener", l.Listen)
				g.add("connected devices", strconv.FormatInt(l.Connections, 10))
			}
			return a.show(&g, body)
		},
	}
	return a.remote(cmd, "table", "json", "csv")
}

func addMQTTClient(g *listing, c *wire.MQTTClient) {
	if c == nil {
		return
	}
	state := "disconnected since "
	if c.Connected {
		state = "connected with MQTT " + c.Protocol + " since "
	}
	g.add("broker", c.URL)
	g.add("state", state+c.Since.Format(time.RFC3339))
	if c.LastError != "" {
		g.add("last error", c.LastError)
	}
	g.add("subscriptions", strings.Join(c.Topics, ", "))
	g.add("messages", strconv.FormatInt(c.Messages, 10))
	if c.LastMessage != nil {
		g.add("last message", c.LastMessage.Format(time.RFC3339))
	}
	g.add("dropped by the broker", droppedText(c.Dropped))
}

func droppedText(d *wire.MQTTDropped) string {
	switch {
	case d == nil:
		return "not reported"
	case d.Seen == 0:
		return fmt.Sprintf("none since the first report, %d before", d.Total)
	}
	last := ""
	if d.Last != nil {
		last = ", last at " + d.Last.Format(time.RFC3339)
	}
	return fmt.Sprintf("%d%s: set max_inflight_messages 1000 and max_queued_messages 0", d.Seen, last)
}

// examineBroker checks that the broker accepts connections, and that the files for the connection
// can be read.
func examineBroker(ctx context.Context, c *config.Config) []dynamo.Finding {
	m := &c.MQTT
	if m.URL == "" {
		return nil
	}
	f := dynamo.Finding{Check: "MQTT broker", State: dynamo.Good, Found: m.URL}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	_, err := readPassword(m.PasswordFile)
	var secure *tls.Config
	if err == nil {
		secure, err = brokerTLS(m)
	}
	if err == nil {
		err = mqtt.CheckBroker(ctx, m.URL, secure)
	}
	if err != nil {
		f.State, f.Found, f.Remedy = dynamo.Wrong, err.Error(), "see docs/mqtt.md, Connect to a broker"
	}
	return []dynamo.Finding{f}
}
