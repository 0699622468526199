package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
)

type keysHandler struct {
	*responder
	registry *apikeys.Registry // if nil, the server has no keys
	events   Events
	now      func() time.Time
}

func (h *keysHandler) addRoutes(o *operations) {
	op := func(id, method, path, summary, description string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: description, Tags: []string{"keys"}}
	}
	huma.Register(o.api, op("create-key", http.MethodPost, "/v1/keys", "Make an API key",
		"The answer has the key itself, which is shown this once and kept nowhere. "+
			"Admin keys make keys of their tenant, within their own rates and end; admin keys of tenant "+varve.DefaultTenant+" make keys of any tenant, without these limits. "+
			"The first key must be one of those."), h.createKey)
	huma.Register(o.api, op("list-keys", http.MethodGet, "/v1/keys", "List the API keys",
		"The keys of the tenant; for admin keys of tenant "+varve.DefaultTenant+", the keys of all tenants. Keys that have ended are listed for 90 days."), h.listKeys)
	huma.Register(o.api, op("revoke-key", http.MethodDelete, "/v1/keys/{id}", "Revoke an API key",
		"It ends at once in the process that answers, and within ten seconds in others."), h.revokeKey)
}

// tenantOfKeys returns the tenant whose keys a grant may manage. For an operator it returns "",
// which means all tenants.
func tenantOfKeys(g *apikeys.Grant) string {
	if g.Operates(apikeys.Admin) {
		return ""
	}
	return g.Tenant
}

type draft struct{ Body wire.KeyDraft }

func (h *keysHandler) createKey(ctx context.Context, in *draft) (*reply[wire.NewKey], error) {
	if h.registry == nil {
		return nil, h.problem(errNoKeys())
	}
	g := grantOf(ctx)
	d, err := DraftOf(&in.Body)
	if err != nil {
		return nil, h.problem(inBody(err))
	}
	d.Tenant = cmp.Or(d.Tenant, g.Tenant)
	if own := tenantOfKeys(g); own != "" {
		if d.Tenant != own {
			return nil, h.problem(varve.Errorf(varve.Forbidden, "keys of another tenant take an admin key of tenant %s", varve.DefaultTenant))
		}
		if err := d.Under(g); err != nil {
			return nil, h.problem(inBody(err))
		}
	}
	k, text, err := h.registry.Create(ctx, d)
	if err != nil {
		return nil, h.problem(inBody(err))
	}
	h.events.KeyCreated(k, g.ID)
	return &reply[wire.NewKey]{wire.NewKey{KeyInfo: KeyInfo(&k, h.now()), Key: text}}, nil
}

// DraftOf converts the body of a request to the draft of a key.
func DraftOf(b *wire.KeyDraft) (d apikeys.Draft, err error) {
	d = apikeys.Draft{Tenant: b.Tenant, Name: b.Name, Rate: apikeys.Rate{Requests: b.RequestsPerSecond, Readings: b.ReadingsPerSecond}}
	if b.Expires != nil {
		d.Expires = *b.Expires
	}
	d.Scopes, err = apikeys.ParseScopes(b.Scopes...)
	return d, err
}

// inBody adds the prefix "body." to the parameter of an error.
func inBody(err error) error {
	if e := classify(err); e.Param != "" {
		return withParam(e, "body."+e.Param)
	}
	return err
}

func errNoKeys() error {
	return varve.Errorf(varve.Conflict, "this server has no registry of keys")
}

func (h *keysHandler) listKeys(ctx context.Context, _ *struct{}) (*reply[wire.KeyList], error) {
	body := wire.KeyList{Keys: []wire.KeyInfo{}}
	if h.registry == nil {
		return &reply[wire.KeyList]{body}, nil
	}
	list, err := h.registry.List(ctx, tenantOfKeys(grantOf(ctx)))
	if err != nil {
		return nil, h.problem(err)
	}
	for i := range list {
		body.Keys = append(body.Keys, KeyInfo(&list[i], h.now()))
	}
	return &reply[wire.KeyList]{body}, nil
}

type byID struct {
	ID string `path:"id" doc:"the key's id; not the key"`
}

func (h *keysHandler) revokeKey(ctx context.Context, in *byID) (*reply[wire.KeyInfo], error) {
	if h.registry == nil {
		return nil, h.problem(errNoKeys())
	}
	g := grantOf(ctx)
	k, err := h.registry.Revoke(ctx, tenantOfKeys(g), in.ID)
	if err != nil {
		return nil, h.problem(err)
	}
	h.events.KeyRevoked(k, g.ID)
	return &reply[wire.KeyInfo]{KeyInfo(&k, h.now())}, nil
}

// KeyInfo returns a key as the API shows it.
func KeyInfo(k *apikeys.Key, now time.Time) wire.KeyInfo {
	return wire.KeyInfo{
		ID: k.ID, Tenant: k.Tenant, Name: k.Name, Scopes: k.Scopes.Names(), State: string(k.StateAt(now)),
		RequestsPerSecond: k.Rate.Requests, ReadingsPerSecond: k.Rate.Readings,
		Created: k.Created, Expires: orNull(k.Expires), Revoked: orNull(k.Revoked), Used: orNull(k.Used),
	}
}
