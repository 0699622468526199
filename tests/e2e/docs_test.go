package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

const dataModel = "../../docs/data-model.md"

var vector = regexp.MustCompile("(?m)^\\| `(\\{.*\\})` \\| (\\S+) \\|$")

// TestDocs_ListCorrectIDs compares the ids in docs/data-model.md with the ids that the server
// computes. With the flag -update, it rewrites the document.
func TestDocs_ListCorrectIDs(t *testing.T) {
	text, err := os.ReadFile(dataModel)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, t.TempDir())
	vectors := vector.FindAllStringSubmatch(string(text), -1)
	if len(vectors) < 8 {
		t.Fatalf("%s has %d test vectors", dataModel, len(vectors))
	}
	is := string(text)
	for i, v := range vectors {
		device := fmt.Sprintf("d%d", i)
		body := fmt.Sprintf(`{"device":%q,"time":"2026-01-01T00:00:00Z","fields":%s}`, device, v[1])
		call(t, http.MethodPost, s.URL+"/v1/streams/ids/readings", body)
		page := call(t, http.MethodGet, s.URL+"/v1/streams/ids/devices/"+device+"/readings", "")
		id := regexp.MustCompile(`"id":"([^"]*)"`).FindStringSubmatch(page)
		if id == nil {
			t.Fatalf("%s was not stored: %s", v[1], page)
		}
		if got := "`" + id[1] + "`"; got != v[2] && !*update {
			t.Errorf("%s has the id %s, and is documented with %s", v[1], got, v[2])
		}
		is = strings.Replace(is, v[0], "| `"+v[1]+"` | `"+id[1]+"` |", 1)
	}
	if *update {
		if err := os.WriteFile(dataModel, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func call(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	status, text, err := do(req)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d, %v: %s", method, url, status, err, text)
	}
	return text
}
