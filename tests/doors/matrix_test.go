package doors

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

// client is a program or a library with which users write points.
type client struct {
	name string
	// write writes lines, and returns the error that the client reports, or nil if the client
	// reports success.
	write func(t *testing.T, url, key string, lines []string) error
	// retries503 means that the client resends after 503, and retriesCut after a cut connection.
	retries503, retriesCut bool
	silent                 bool // the client does not report partial writes
}

// situation is a condition under which a client writes points.
type situation struct {
	name     string
	bad      int           // number of points without a device
	wrongKey bool          // the key is not valid
	outage   time.Duration // time for which the server is busy
	cut      int           // number of writes whose answers are cut
}

var situations = []situation{
	{name: "good"}, {name: "one_bad", bad: 1}, {name: "all_bad", bad: 10}, {name: "wrong_key", wrongKey: true},
	{name: "outage", outage: 10 * time.Second}, {name: "cut", cut: 1},
}

// server returns the server for a situation: a busy one during an outage, and otherwise the common
// one.
func (s *situation) server(t *testing.T, common *server) *server {
	t.Helper()
	if s.outage == 0 {
		return common
	}
	busy := startServer(t, "--set", "limits.requests=1")
	busy.occupy(t, s.outage)
	return busy
}

// expected returns the number of stored readings, and whether the client must report an error.
func (c *client) expected(s *situation) (stored int, failed bool) {
	switch {
	case s.wrongKey:
		return 0, true
	case s.bad > 0:
		return 10 - s.bad, !c.silent
	case s.outage > 0:
		if c.retries503 {
			return 10, false
		}
		return 0, true
	case s.cut > 0:
		return 10, !c.retriesCut
	default:
		return 10, false
	}
}

// TestClients_AgreeWithStore writes with each client library in each situation, and compares the
// stored readings with the client's report.
func TestClients_AgreeWithStore(t *testing.T) {
	s := startServer(t)
	for i := range libraries {
		c := &libraries[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for j := range situations {
				situation := &situations[j]
				t.Run(situation.name, func(t *testing.T) {
					t.Parallel()
					s := situation.server(t, s)
					p := startProxy(t, s.URL)
					p.cut = situation.cut
					key := s.key
					if situation.wrongKey {
						key = "vk_wrong"
					}
					stream := c.name + "." + situation.name
					err := c.write(t, p.URL, key, points(stream, situation.bad))
					want, failed := c.expected(situation)
					if (err != nil) != failed {
						t.Errorf("the client reports %v, want an error: %t", err, failed)
					}
					if got := s.stored(t, stream); got != want {
						t.Errorf("%d readings are stored, want %d; the client reports %v", got, want, err)
					}
				})
			}
		})
	}
}

// TestDocs_ShowTestedConfiguration checks that the documentation has the configuration that is tested.
func TestDocs_ShowTestedConfiguration(t *testing.T) {
	page, err := os.ReadFile("../../docs/line-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../docs/examples/telegraf.conf")
	if err != nil {
		t.Fatal(err)
	}
	_, config, _ := strings.Cut(string(example), "[agent]")
	if !strings.Contains(string(page), "```toml\n[agent]"+config+"```") {
		t.Errorf("docs/line-protocol.md lacks the text of docs/examples/telegraf.conf:\n[agent]%s", config)
	}
}

// TestTelegraf_AgreesWithStore runs Telegraf with the configurations of the documentation in each
// situation. Telegraf reports no success, so the test waits for the answers to its requests.
func TestTelegraf_AgreesWithStore(t *testing.T) {
	s := startServer(t)
	for _, config := range []string{"telegraf-v1.conf", "telegraf.conf"} {
		for i := range situations {
			situation := &situations[i]
			t.Run(config+"/"+situation.name, func(t *testing.T) {
				t.Parallel()
				s := situation.server(t, s)
				p := startProxy(t, s.URL)
				p.cut = situation.cut
				key := s.key
				if situation.wrongKey {
					key = "vk_wrong"
				}
				stream := "telegraf." + config + "." + situation.name
				startTelegraf(t, config, p.URL, key, points(stream, situation.bad))
				done := func() bool { return p.answered(http.StatusNoContent) > 0 }
				switch {
				case situation.wrongKey && config == "telegraf.conf":
					done = func() bool { return p.answered(http.StatusUnauthorized) > 1 } // Telegraf retries
				case situation.wrongKey:
					done = func() bool { return p.answered(http.StatusUnauthorized) > 0 } // Telegraf drops the points
				case situation.bad > 0:
					done = func() bool { return p.answered(http.StatusBadRequest) > 0 }
				}
				if !varvetest.Eventually(done) {
					t.Fatalf("Telegraf got the answers %v", p.statuses)
				}
				want := 10 - situation.bad
				if situation.wrongKey {
					want = 0
				}
				if got := s.stored(t, stream); got != want {
					t.Errorf("%d readings are stored, want %d", got, want)
				}
			})
		}
	}
}
