package dynamo_test

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// holding is a transport that delays the first request for a list of tables until the channel release
// is closed.
type holding struct {
	lists         atomic.Int64
	held, release chan struct{}
}

func (h *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ListTables") && h.lists.Add(1) == 1 {
		close(h.held)
		<-h.release
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestTables_KeepsVersionOfSlowList delays a list that began before a table was used, until a later list
// has the newer version of the catalog. The older list must not be returned for the newer version.
func TestTables_KeepsVersionOfSlowList(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	h := &holding{held: make(chan struct{}), release: make(chan struct{})}
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: h} })
	a := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry"})
	b := openWith(t, dynamo.Options{Client: client, Registry: "t_registry", CacheFor: time.Hour})
	tb := newTable(t, a)
	list := func(version string) int {
		infos, err := b.Tables(t.Context(), store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime(), SkipEmpty: true, Version: version})
		if err != nil {
			t.Error(err)
		}
		return len(infos)
	}
	var slow sync.WaitGroup
	slow.Go(func() {
		if n := list(""); n != 0 {
			t.Errorf("the slow list has %d tables, want 0", n)
		}
	})
	<-h.held
	if got := send(t, a, tb, sensor(someTime, "v", varve.IntValue(1))); got != "s" {
		t.Errorf("verdict %s, want s", got)
	}
	found, err := a.Get(t.Context(), []store.Key{a.VersionKey()}, true)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d version items, %v", len(found), err)
	}
	version := found[0].Attrs[store.VersionAttr].Text()
	if n := list(version); n != 1 {
		t.Errorf("the list of the newer version has %d tables, want 1", n)
	}
	close(h.release)
	slow.Wait()
	if n := list(version); n != 1 {
		t.Errorf("after the slow list: the newer version has %d tables, want 1", n)
	}
}

// TestConfirm_NeverRepeatsVersion loses the answer to a change of the catalog's version. Another process
// changes the version before the request is repeated. The version must not become the earlier one again.
func TestConfirm_NeverRepeatsVersion(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	other := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry"})
	version := func() string {
		t.Helper()
		found, err := other.Get(t.Context(), []store.Key{other.VersionKey()}, true)
		if err != nil || len(found) != 1 {
			t.Fatalf("%d version items, %v", len(found), err)
		}
		return found[0].Attrs[store.VersionAttr].Text()
	}
	first, second := tableOf("a", someTime), tableOf("b", someTime)
	var seen []string
	link := detour(func(op string, body []byte, next func() (*http.Response, error)) (*http.Response, error) {
		resp, err := next()
		if op != "PutItem" || !bytes.Contains(body, []byte(`"CATALOG"`)) || len(seen) > 0 || err != nil {
			return resp, err
		}
		seen = append(seen, version())
		send(t, other, second, sensor(someTime, "v", varve.IntValue(1)))
		seen = append(seen, version())
		return nil, errors.Join(errCut, resp.Body.Close())
	})
	s := openWith(t, dynamo.Options{Client: hooked(url, link), Registry: "t_registry"})
	for _, tb := range []grid.Table{first, second} {
		if err := other.Create(t.Context(), tb, store.Hot); err != nil {
			t.Fatal(err)
		}
	}
	if got := send(t, s, first, sensor(someTime, "v", varve.IntValue(1))); got != "s" {
		t.Errorf("verdict %s, want s", got)
	}
	if last := version(); len(seen) != 2 || slices.Contains(seen, last) || seen[0] == seen[1] {
		t.Errorf("versions %v, then %s; want three different ones", seen, last)
	}
}
