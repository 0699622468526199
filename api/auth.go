package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/apikeys"
)

// everything is the grant of all requests while the server does not require keys.
//
// If the server requires keys, all paths require one, even unknown paths. So requests are checked before
// routing. The exceptions are the requests for which the function open returns true. The map accesses has
// the rights that a route requires.
var everything = apikeys.Everything()

// guard checks the host, origin, key and rate of a request, before routing.
type guard struct {
	keys         *apikeys.Registry // if nil, no keys exist, and every request may do everything unless keysRequired is true
	keysRequired bool
	hosts        []string // names of the server besides localhost and loopback addresses
	now          func() time.Time
}

// enter checks a request, and returns it with its grant. If enter refuses the request, the error has the
// reason.
func (g *guard) enter(r *http.Request) (*http.Request, error) {
	if showsKey(r.URL) {
		if isInflux(r.URL.Path) {
			return r, influxKeyShown
		}
		return r, varve.Errorf(varve.Invalid, "an API key stands in the address, where logs and histories keep it: "+
			"send it in the header Authorization, as Bearer %s…, and revoke this one", apikeys.Prefix)
	}
	on, err := g.keysOn(r.Context())
	if err != nil && !open(r) {
		return r, err
	}
	if err := g.checkOrigin(r, on); err != nil {
		return r, err
	}
	grant := everything
	if on {
		grant, err = g.admit(r)
		switch {
		case err == nil:
		case open(r):
			grant = noGrant
		default:
			return r, err
		}
	}
	return r.WithContext(context.WithValue(r.Context(), grantKey{}, grant)), nil
}

func (g *guard) keysOn(ctx context.Context) (bool, error) {
	switch {
	case g.keysRequired:
		return true, nil
	case g.keys == nil:
		return false, nil
	}
	return g.keys.On(ctx)
}

// unauthorized is the error for requests without a valid key, except on the paths of InfluxDB. It does not
// distinguish missing, wrong, expired and revoked keys.
var unauthorized = &varve.Error{Failure: varve.Forbidden, Err: errNoKey,
	Message: "this requires a valid API key: send it in the header Authorization, as Bearer " + apikeys.Prefix + "…; varve keys create makes one"}

// admit checks a request's key, and counts the request against the rate of the key.
func (g *guard) admit(r *http.Request) (*apikeys.Grant, error) {
	read, refused := writes.KeyIn, unauthorized
	switch {
	case isInflux(r.URL.Path):
		read, refused = writes.LineKeyIn, influxUnauthorized
	case r.URL.Path == firehosePath:
		read = firehoseKeyIn
	}
	text := read(r.Header)
	if text == "" || g.keys == nil {
		return nil, refused
	}
	grant, err := g.keys.Check(r.Context(), text)
	if errors.Is(err, apikeys.ErrNone) {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	if wait := grant.Request(g.now()); wait > 0 {
		return nil, apikeys.TooFast("requests", wait)
	}
	return grant, nil
}

// showsKey reports whether an address contains a key, escaped or not.
func showsKey(u *url.URL) bool {
	if apikeys.Shows(u.Path) {
		return true
	}
	if u.RawQuery == "" || !strings.Contains(u.RawQuery, "vk") && !strings.Contains(u.RawQuery, "%") {
		return false
	}
	if apikeys.Shows(u.RawQuery) {
		return true
	}
	for part := range strings.FieldsFuncSeq(u.RawQuery, func(r rune) bool { return strings.ContainsRune("&;=", r) }) {
		// Unescape each part alone. Otherwise a part that cannot be unescaped would hide a key in another part.
		if plain, err := url.QueryUnescape(part); err == nil && apikeys.Shows(plain) {
			return true
		}
	}
	return false
}
