package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// crossOrigin refuses requests with which a page of another site could change data.
var crossOrigin = http.NewCrossOriginProtection()

// checkOrigin returns an error if the Host or the Origin of a request is not accepted.
//
// Before the first key exists, any page in a browser on this machine can send requests to the
// server. So the Host header must name this server. Once keys exist, any host is accepted,
// because a browser does not send a key by itself.
func (g *guard) checkOrigin(r *http.Request, keysOn bool) error {
	if !keysOn && !g.ownHost(r.Host) {
		return &varve.Error{Failure: varve.Forbidden, Param: "header.Host",
			Message: quote.Text(r.Host) + " is not a name of this server: call it as 127.0.0.1 or localhost, or, if a proxy in front calls it so, name it in server.hosts"}
	}
	if err := crossOrigin.Check(r); err != nil {
		return &varve.Error{Failure: varve.Forbidden,
			Message: "a page of another site sent this request, and nothing may be changed by one: send it from a program, or from a page of " + r.Host}
	}
	return nil
}

// ownHost reports whether a Host header names this server: localhost, a loopback address, or one of
// Options.Hosts. An empty header is accepted, because no browser sends one.
func (g *guard) ownHost(host string) bool {
	if host == "" {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().IsLoopback() {
		return true
	}
	return slices.ContainsFunc(g.hosts, func(own string) bool {
		return strings.EqualFold(own, name) || strings.EqualFold(own, host)
	})
}
