package api

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// Before the first key exists, a browser on this machine can reach the server from any
// page. So a request must name the server as intended clients do. With keys, no
// browser sends a key by itself, and any name is accepted. Requests that change
// something must not come from another site's page in either case.

var crossOrigin = http.NewCrossOriginProtection()

// checkOrigin returns the reason to refuse a request of any route, or nil.
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

// ownHost reports whether a Host header names this server: by an address of this machine, or by one
// of Options.Hosts. An empty header is accepted, because no browser sends one.
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

// unaskedType reports whether a page of any site can send the body's type without a
// preflight request, and the type is not one of readings. The default type of curl
// is not such a type if no browser sent it.
func unaskedType(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return false
	case media == "application/x-www-form-urlencoded":
		return byBrowser(r.Header)
	default:
		return media == "text/plain" || strings.HasPrefix(media, "multipart/")
	}
}

func byBrowser(h http.Header) bool {
	if h.Get("Origin") != "" {
		return true
	}
	for name := range h {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			return true
		}
	}
	return false
}
