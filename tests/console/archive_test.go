package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// newArchived starts a Varve with readings that are only in an archive: their table was dropped. It returns
// the name of the table.
func newArchived(t *testing.T, first time.Time, readings int) (w *world, name string) {
	t.Helper()
	w = &world{dir: t.TempDir()}
	w.setClock(t, time.Until(first.Add(time.Hour)))
	w.start(t, "--set", "retention.drop=archived", "--set", "retention.grace=7d", "--set", "retention.schedule=0 0 29 2 *",
		"--set", "archive.kind=folder", "--set", "archive.dir="+t.TempDir(), "--set", "classes.default.retention=30d")
	var lines []string
	for i := range readings {
		lines = append(lines, reading("s1", first.Add(time.Duration(i)*time.Minute), `"temperature":`+[]string{"20", "21.5"}[i%2]))
	}
	w.write(t, "weather", lines...)
	for table, one := range w.listTables(t) {
		if one.Readings > 0 {
			name = table
		}
	}
	w.setClock(t, -60*day)
	w.must(t, http.MethodPost, "/v1/tables/apply", "")
	w.setClock(t, 0)
	w.must(t, http.MethodPost, "/v1/archives/"+name, "")
	w.must(t, http.MethodPost, "/v1/tables/apply", "")
	if _, exists := w.listTables(t)[name]; exists {
		t.Fatalf("%s was not dropped", name)
	}
	return w, name
}

// TestDevice_ReadsArchives opens a window whose readings are only in an archive. The page must show them,
// and name their table, once the option to include archives is set.
func TestDevice_ReadsArchives(t *testing.T) {
	first := time.Now().UTC().Add(-130 * day).Truncate(time.Hour)
	w, name := newArchived(t, first, 40)
	window := "from=" + first.Format(time.RFC3339) + "&to=" + first.Add(time.Hour).Format(time.RFC3339)
	b := w.open(t, "/ui/device/s1?stream=weather&fields=temperature&show=readings&"+window, "")
	b.allow("404") // the page's request for the latest reading may fail, because the device has no live reading
	b.wait(`document.querySelector(".plot[data-points='0']")`)
	if text := b.text("main"); strings.Contains(text, name) {
		t.Errorf("%s is named without its archive", name)
	}
	b.click("#archive")
	b.wait(`document.querySelector(".plot[data-points='40']") && location.search.includes("archive=1")`)
	b.waitText("Archived tables read")
	b.waitText(name)
	b.visit("/ui/device/s1?stream=weather&fields=temperature&show=band&archive=1&" + window)
	b.wait(`document.querySelector(".plot[data-kind=band]")?.dataset.points > 0`)
	b.waitText(name)
	b.check()

	// The API must return the same readings as the page, and name the same archived table.
	var answer struct {
		Readings []json.RawMessage
		Coverage struct{ Archived []string }
	}
	w.get(t, "/v1/streams/weather/devices/s1/readings?archive=true&"+window, &answer)
	if len(answer.Readings) != 40 || len(answer.Coverage.Archived) != 1 || answer.Coverage.Archived[0] != name {
		t.Errorf("%d readings, archives %v", len(answer.Readings), answer.Coverage.Archived)
	}
}
