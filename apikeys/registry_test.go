package apikeys_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/store"
)

const day = 24 * time.Hour

var form = regexp.MustCompile(`^vk_[a-z2-7]{8}_[0-9A-Za-z]{43}$`)

// TestCreate_StoresHashOnly checks that a key has the properties of its draft in every process, and
// a secret in the documented form. The store has only its hash.
func TestCreate_StoresHashOnly(t *testing.T) {
	w := newWorld(t)
	w.admin()
	d := apikeys.Draft{
		Tenant: "acme", Name: "gate 7", Scopes: apikeys.Read | apikeys.Write, Expires: w.clock.Now().Add(30 * day),
		Rate: apikeys.Rate{Requests: 0.5, Readings: 1000},
	}
	k, text := w.create(d)
	if !form.MatchString(text) || !strings.HasPrefix(text, "vk_"+k.ID+"_") {
		t.Errorf("%s is the key %s", text, k.ID)
	}
	if k.Tenant != d.Tenant || k.Name != d.Name || k.Scopes != d.Scopes || k.Rate != d.Rate || !k.Created.Equal(w.clock.Now()) || !k.Expires.Equal(d.Expires) || !k.Revoked.IsZero() {
		t.Errorf("%+v", k)
	}
	list, err := w.other().List(t.Context(), "acme")
	if err != nil || len(list) != 1 || list[0] != k {
		t.Errorf("%v %+v", err, list)
	}
	page, err := w.items.Query(t.Context(), store.ItemQuery{PK: "KEYS"})
	if err != nil || len(page.Items) != 3 {
		t.Fatal(err, len(page.Items))
	}
	sum := sha256.Sum256([]byte(text))
	secret := text[len("vk_12345678_"):]
	found := false
	for _, it := range page.Items {
		found = found || it.SK == k.ID && it.Attrs["hash"].Text() == hex.EncodeToString(sum[:])
		if all := fmt.Sprintf("%v", it); strings.Contains(all, secret) {
			t.Errorf("the secret is in %s", all)
		}
	}
	if !found {
		t.Error("the hash of the key is nowhere")
	}
	if _, again := w.create(d); again == text {
		t.Error("two keys are one")
	}
}

// TestFirstKey_MustBeAbleToCreate checks that keys are optional until the first one exists, and
// required from then on. The first key must be able to create others.
func TestFirstKey_MustBeAbleToCreate(t *testing.T) {
	w := newWorld(t)
	late := w.other()
	for _, d := range []apikeys.Draft{{Scopes: apikeys.Read | apikeys.Write}, {Tenant: "acme", Scopes: apikeys.Admin}} {
		_, _, err := w.Create(t.Context(), d)
		invalid(t, err, "scopes", "first key")
	}
	isOn := func(w *world, want bool) {
		t.Helper()
		if on, err := w.On(t.Context()); err != nil || on != want {
			t.Errorf("on is %v, %v, want %v", on, err, want)
		}
	}
	isOn(w, false)
	isOn(late, false)
	k, _ := w.create(apikeys.Draft{Scopes: apikeys.Admin | apikeys.Read, Expires: w.clock.Now().Add(time.Hour)})
	isOn(w, true)
	isOn(w.other(), true)
	isOn(late, false)
	w.clock.advance(10 * time.Second)
	isOn(late, true)
	w.revoke(k.ID)
	isOn(w.other(), true)
	w.clock.advance(1000 * day)
	isOn(w.other(), true)
	if list, err := w.List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	w.create(apikeys.Draft{Tenant: "acme", Scopes: apikeys.Read}) // allowed, because it is not the first key
}

// TestFirstKey_SurvivesCrash ends a process between the record that keys exist and the first key.
// Requests must be denied until the next attempt creates a key.
func TestFirstKey_SurvivesCrash(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("gone")
	puts := 0
	w.items.put = func() error {
		if puts++; puts == 2 {
			return broken
		}
		return nil
	}
	if _, _, err := w.Create(t.Context(), apikeys.Draft{Scopes: apikeys.Admin}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if on, err := w.other().On(t.Context()); err != nil || !on {
		t.Errorf("on is %v, %v", on, err)
	}
	if _, text := w.admin(); !w.allowed(text) {
		t.Error("the key that was made then is none")
	}
}

// TestOn_FailsClosed checks that no request is allowed if the store cannot return the record that
// keys exist.
func TestOn_FailsClosed(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("no answer")
	w.items.onGet(func([]store.Item) error { return broken })
	if on, err := w.On(t.Context()); !on || !errors.Is(err, broken) {
		t.Errorf("on is %v, %v", on, err)
	}
}

func TestCreate_RefusesInvalidDrafts(t *testing.T) {
	w := newWorld(t)
	w.admin()
	for _, row := range []struct {
		why, param, says string
		d                apikeys.Draft
	}{
		{"no scope", "scopes", "no scope", apikeys.Draft{}},
		{"a tenant that is no name", "tenant", "letters", apikeys.Draft{Tenant: "a/b", Scopes: apikeys.Read}},
		{"a long name", "name", "100", apikeys.Draft{Name: strings.Repeat("x", 101), Scopes: apikeys.Read}},
		{"a name with a line's end", "name", "printed", apikeys.Draft{Name: "a\nb", Scopes: apikeys.Read}},
		{"a name that is no text", "name", "printed", apikeys.Draft{Name: "\xff", Scopes: apikeys.Read}},
		{"an end in the past", "expires", "is in the past", apikeys.Draft{Scopes: apikeys.Read, Expires: w.clock.Now()}},
		{"an end that cannot be written", "expires", "too far", apikeys.Draft{Scopes: apikeys.Read, Expires: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"an end after 9999 in UTC", "expires", "too far", apikeys.Draft{Scopes: apikeys.Read, Expires: time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))}},
		{"a rate below nothing", "requests_per_second", "a second", apikeys.Draft{Scopes: apikeys.Read, Rate: apikeys.Rate{Requests: -1}}},
		{"a rate that is none", "readings_per_second", "not a number", apikeys.Draft{Scopes: apikeys.Write, Rate: apikeys.Rate{Readings: math.NaN()}}},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, _, err := w.Create(t.Context(), row.d)
			invalid(t, err, row.param, row.says)
		})
	}
	_, err := apikeys.ParseScopes("read", "root")
	invalid(t, err, "scopes", `scope "root" is unknown`)
}

// TestList_OrdersByCreation checks that the keys of one tenant or of all are listed in order of
// creation, including keys that ended in the last 90 days.
func TestList_OrdersByCreation(t *testing.T) {
	w := newWorld(t)
	first, _ := w.admin()
	w.clock.advance(time.Second)
	short, _ := w.create(apikeys.Draft{Tenant: "acme", Scopes: apikeys.Read, Expires: w.clock.Now().Add(time.Hour)})
	w.clock.advance(time.Second)
	revoked, _ := w.create(apikeys.Draft{Tenant: "acme", Scopes: apikeys.Write})
	w.revoke(revoked.ID)
	expect := func(tenant string, want ...string) {
		t.Helper()
		list, err := w.List(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range list {
			got = append(got, k.ID+" "+string(k.StateAt(w.clock.Now())))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("tenant %q: %v, want %v", tenant, got, want)
		}
	}
	expect("", first.ID+" active", short.ID+" active", revoked.ID+" revoked")
	w.clock.advance(time.Hour)
	expect("acme", short.ID+" expired", revoked.ID+" revoked")
	expect("other")
	w.clock.advance(89 * day)
	expect("acme", short.ID+" expired", revoked.ID+" revoked")
	w.clock.advance(2 * day)
	expect("", first.ID+" active")
}

// TestRevoke_AppliesOnce checks that a key is revoked once, only by its tenant or an operator, and
// no error shows a possible secret.
func TestRevoke_AppliesOnce(t *testing.T) {
	w := newWorld(t)
	w.admin()
	k, text := w.create(apikeys.Draft{Tenant: "acme", Scopes: apikeys.Read})
	_, errOther := w.Revoke(t.Context(), "rival", k.ID)
	if varve.FailureOf(errOther) != varve.NotFound || !w.allowed(text) {
		t.Errorf("another tenant: %v", errOther)
	}
	_, errNone := w.Revoke(t.Context(), "rival", "aaaaaaaa")
	if errNone == nil || strings.ReplaceAll(errNone.Error(), "aaaaaaaa", k.ID) != errOther.Error() {
		t.Errorf("%v tells that there is such a key; where there is none: %v", errOther, errNone)
	}
	first, err := w.Revoke(t.Context(), "acme", k.ID)
	if err != nil || !first.Revoked.Equal(w.clock.Now()) {
		t.Errorf("%+v %v", first, err)
	}
	w.clock.advance(time.Hour)
	if again, err := w.other().Revoke(t.Context(), "", k.ID); err != nil || again != first {
		t.Errorf("%+v %v", again, err)
	}
	for _, id := range []string{"", text, "ON", "AAAAAAAA", "aaaaaaa1", strings.Repeat("a", 9)} {
		if _, err := w.Revoke(t.Context(), "", id); varve.FailureOf(err) != varve.NotFound || strings.Contains(err.Error(), "vk_") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// resending sends each write twice, as a client does that has lost the answer to the first one.
type resending struct{ store.Items }

func (s resending) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if err := s.Items.Put(ctx, it, conds...); err != nil {
		return err
	}
	return s.Items.Put(ctx, it, conds...)
}

// TestCreate_StoresOneKeyAfterLostAnswer loses the answer to the write of a key.
// Exactly this key must exist.
func TestCreate_StoresOneKeyAfterLostAnswer(t *testing.T) {
	w := newWorld(t)
	w.Registry = apikeys.New(resending{w.items}, w.clock.Now)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	k, text, err := w.Create(ctx, apikeys.Draft{Name: "first", Scopes: apikeys.Admin})
	if err != nil {
		t.Fatal(err)
	}
	if !w.allowed(text) {
		t.Error("the key is not valid")
	}
	list, err := w.other().List(t.Context(), "")
	if err != nil || len(list) != 1 || list[0] != k {
		t.Errorf("keys %+v, %v; want only %+v", list, err, k)
	}
}

// TestList_ReadsKeysOfYear10000 lists a key that an earlier version stored with an end in the year 10000.
// The listed end must be in the year 9999.
func TestList_ReadsKeysOfYear10000(t *testing.T) {
	w := newWorld(t)
	k, _ := w.admin()
	items, err := w.items.Get(t.Context(), []store.Key{{PK: "KEYS", SK: k.ID}}, true)
	if err != nil {
		t.Fatal(err)
	}
	items[0].Attrs["expires"] = varve.StringValue("10000-01-01T00:59:59.000Z")
	if err := w.items.Put(t.Context(), items[0]); err != nil {
		t.Fatal(err)
	}
	list, err := w.List(t.Context(), "")
	if want := "9999-12-31T00:59:59Z"; err != nil || len(list) != 1 || list[0].Expires.Format(time.RFC3339) != want {
		t.Errorf("%+v, %v, want an end at %s", list, err, want)
	}
}
