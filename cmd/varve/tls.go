package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/rs/zerolog"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store"
)

// mayListen fails if other machines can reach the address of HTTP or MQTT, and no API key exists yet.
func mayListen(ctx context.Context, c *config.Config, registry *apikeys.Registry) error {
	at := c.Server.Listen
	if c.Server.Loopback() {
		if at = c.MQTT.Listen; at == "" || c.MQTT.Loopback() {
			return nil
		}
	}
	on, err := registry.On(ctx)
	if errors.Is(err, store.ErrDamaged) {
		return nil // the item that marks that keys exist is damaged, so every request requires a key
	}
	if err == nil && !on {
		return usageError{fmt.Errorf("%s can be reached from other machines, and no API keys exist yet: create the first with %s keys create --scope admin, "+
			"on the same store, or listen on 127.0.0.1", at, selfCommand())}
	}
	return err
}

// warnOfClear logs a warning if other machines can reach the HTTP server without TLS and without a
// proxy. It logs another one if they can reach the listener of MQTT without TLS.
func warnOfClear(c *config.Config, log zerolog.Logger) {
	if !c.Server.Loopback() && c.Server.TLSCert == "" && !c.Server.Proxied {
		log.Warn().Str("listen", c.Server.Listen).
			Str("remedy", "set server.tls_cert and server.tls_key, or server.proxied if a proxy in front ends TLS").
			Msg("API keys accepted without TLS")
	}
	if m := &c.MQTT; m.Listen != "" && !m.Loopback() && c.Server.TLSCert == "" {
		log.Warn().Str("listen", m.Listen).Str("remedy", "set server.tls_cert and server.tls_key").Msg("API keys accepted over MQTT without TLS")
	}
}

func serve(srv *http.Server, l net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(l, "", "")
	}
	return srv.Serve(l)
}

// keyChanged logs a change of a key, with the id of the key that made the change. Ids are not
// secret.
func keyChanged(log zerolog.Logger, what string, k *apikeys.Key, by string) {
	log.Info().Str("key", k.ID).Str("name", k.Name).Str("tenant", k.Tenant).Stringer("scopes", k.Scopes).Str("by", by).Msg(what)
}
