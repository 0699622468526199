package apikeys_test

import (
	"github.com/varvedb/varve/apikeys"
	"strings"
	"testing"
	"time"
)

// TestRequestRate_AllowsBurst checks that a burst passes without a wait if the rate allows it in one
// second. Later requests must pass at the rate. Rereading the key must not reset its rate.
func TestRequestRate_AllowsBurst(t *testing.T) {
	w := newWorld(t)
	w.admin()
	_, text := w.create(apikeys.Draft{Scopes: apikeys.Read, Rate: apikeys.Rate{Requests: 5}})
	ask := func() time.Duration {
		t.Helper()
		g, err := w.Check(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return g.Request(w.clock.Now())
	}
	for i := range 5 {
		if wait := ask(); wait != 0 {
			t.Fatalf("request %d has to wait %s", i, wait)
		}
	}
	if wait := ask(); wait != 200*time.Millisecond {
		t.Errorf("the sixth has to wait %s", wait)
	}
	w.clock.advance(200 * time.Millisecond)
	if first, second := ask(), ask(); first != 0 || second == 0 {
		t.Errorf("after that they have to wait %s and %s", first, second)
	}
	n := 0
	for range 30 { // the key is reread several times
		w.clock.advance(time.Second)
		for ask() == 0 {
			n++
		}
	}
	if n != 150 {
		t.Errorf("%d requests in 30 s", n)
	}
}

// TestReadingRate_DelaysLaterBodies checks that a body of any length is accepted whole. Later
// bodies wait until the rate has allowed for the readings of earlier bodies, and no other request
// waits.
func TestReadingRate_DelaysLaterBodies(t *testing.T) {
	w := newWorld(t)
	w.admin()
	_, text := w.create(apikeys.Draft{Scopes: apikeys.Write, Rate: apikeys.Rate{Readings: 100}})
	g, err := w.Check(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if wait := g.Write(w.clock.Now()); wait != 0 {
		t.Fatal(wait)
	}
	g.Readings(w.clock.Now(), 5000) // 4,900 readings more than the limit allows
	if wait := g.Write(w.clock.Now()); wait != 49010*time.Millisecond {
		t.Errorf("the next has to wait %s", wait)
	}
	if wait := g.Request(w.clock.Now()); wait != 0 {
		t.Errorf("a request that writes nothing has to wait %s", wait)
	}
	w.clock.advance(49 * time.Second)
	if wait := g.Write(w.clock.Now()); wait != 10*time.Millisecond {
		t.Errorf("after 49 s it has to wait %s", wait)
	}
	w.clock.advance(10 * time.Millisecond)
	if wait := g.Write(w.clock.Now()); wait != 0 {
		t.Errorf("after that it has to wait %s", wait)
	}
}

func TestNoRate_NeverWaits(t *testing.T) {
	g := apikeys.Everything()
	for range 1000 {
		g.Readings(time.Time{}, 1e6)
		if g.Request(time.Time{}) != 0 || g.Write(time.Time{}) != 0 {
			t.Fatal("everybody has to wait")
		}
	}
}

// TestShows_FindsKeyInText checks that a key is found anywhere in a text, even if its end is
// truncated. Names that resemble a key are not found.
func TestShows_FindsKeyInText(t *testing.T) {
	w := newWorld(t)
	k, text := w.admin()
	for _, with := range []string{text, "a" + text + "b", "vk_vk_" + text, "/v1/keys/" + text, text[:40], text[:28]} {
		if !apikeys.Shows(with) {
			t.Errorf("%q shows nothing", with)
		}
	}
	for _, without := range []string{"", "vk_", k.ID, "vk_" + k.ID, "vk_" + k.ID + "_", "vk_sensor_01", "vk_abcdefgh_01", strings.Repeat("vk_", 100)} {
		if apikeys.Shows(without) {
			t.Errorf("%q shows a key", without)
		}
	}
	if apikeys.IDOf(text) != k.ID || apikeys.IDOf(k.ID) != k.ID {
		t.Errorf("%s %s", apikeys.IDOf(text), apikeys.IDOf(k.ID))
	}
}

// TestRate_SurvivesReread checks that the rate of a key is not reset when the key is reread.
func TestRate_SurvivesReread(t *testing.T) {
	w := newWorld(t)
	w.admin()
	_, text := w.create(apikeys.Draft{Scopes: apikeys.Read, Rate: apikeys.Rate{Requests: 0.01}})
	for i, want := range []time.Duration{0, 89 * time.Second, 78 * time.Second} {
		g, err := w.Check(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if wait := g.Request(w.clock.Now()); wait != want {
			t.Errorf("request %d has to wait %s, want %s", i, wait, want)
		}
		w.clock.advance(11 * time.Second)
	}
}

// TestBegin_LimitsConcurrentBodies checks that the rate limits how many of several concurrent
// bodies are accepted.
func TestBegin_LimitsConcurrentBodies(t *testing.T) {
	w := newWorld(t)
	w.admin()
	_, text := w.create(apikeys.Draft{Scopes: apikeys.Write, Rate: apikeys.Rate{Readings: 10}})
	g, err := w.Check(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{0, 9100 * time.Millisecond} {
		if wait := g.Begin(w.clock.Now(), 100); wait != want {
			t.Errorf("body %d has to wait %s, want %s", i, wait, want)
		}
	}
	w.clock.advance(9100 * time.Millisecond)
	if wait := g.Begin(w.clock.Now(), 1); wait != 0 {
		t.Errorf("after that: %s", wait)
	}
	if wait := apikeys.Everything().Begin(w.clock.Now(), 1e6); wait != 0 {
		t.Errorf("everybody has to wait %s", wait)
	}
}
