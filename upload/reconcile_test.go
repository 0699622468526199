package upload_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/upload"
)

// rows returns n CSV rows of two devices, ten minutes apart. It omits the rows for which the function
// "skip" returns true.
func rows(n int, skip func(i int) bool) string {
	var b strings.Builder
	b.WriteString("time,device,v\n")
	for i := range n {
		if !skip(i) {
			fmt.Fprintf(&b, "%s,d%d,%d.50\n", noon.Add(-time.Duration(i)*10*time.Minute).Format(time.RFC3339), i%2, i)
		}
	}
	return b.String()
}

// TestReconcile_SendsOnlyMissingHours sends a file whose readings are stored, except for one reading.
// Only the hour of this reading must be resent, and only for its device. Invalid rows must be reported.
func TestReconcile_SendsOnlyMissingHours(t *testing.T) {
	for _, format := range []string{"rows.csv", "rows.json", "values.csv"} {
		t.Run(format, func(t *testing.T) {
			c := newClient(t)
			params := url.Values{}
			text := func(skip func(int) bool) string { return rows(600, skip) }
			switch format {
			case "rows.json":
				text = func(skip func(int) bool) string {
					var list []string
					for _, row := range strings.Split(strings.TrimSpace(rows(600, skip)), "\n")[1:] {
						cells := strings.Split(row, ",")
						list = append(list, fmt.Sprintf(`{"time":%q,"device":%q,"fields":{"v":%s}}`, cells[0], cells[1], cells[2]))
					}
					return "[" + strings.Join(list, ",\n") + "]"
				}
			case "values.csv":
				params = url.Values{"name_column": {"name"}, "value_column": {"value"}}
				text = func(skip func(int) bool) string {
					out := "time,device,name,value\n"
					for _, row := range strings.Split(strings.TrimSpace(rows(600, skip)), "\n")[1:] {
						cells := strings.Split(row, ",")
						out += fmt.Sprintf("%s,%s,a,%s\n%s,%s,b,1\n", cells[0], cells[1], cells[2], cells[0], cells[1])
					}
					return out
				}
			}
			some := writeFile(t, format, text(func(i int) bool { return i == 301 }))
			whole := writeFile(t, format, text(func(int) bool { return false }))
			o := upload.Options{Client: c, Params: params, Parallel: 2, Batch: 100}
			if r, err := send(t, o, some); err != nil || r.Stored != 599 {
				t.Fatalf("%+v, %v", r, err)
			}
			o.Reconcile = true
			r, err := send(t, o, whole)
			if want := (wire.Tally{Stored: 1, Duplicates: 2}); err != nil || r.Tally != want || r.Present != 597 {
				t.Errorf("%+v, %v, want %+v and 597 present", r, err, want)
			}
			if r, err = send(t, o, whole); err != nil || r.Total() != 0 || r.Present != 600 {
				t.Errorf("again: %+v, %v", r, err)
			}
		})
	}
	c := newClient(t)
	bad := writeFile(t, "bad.csv", "time,v\n2026-11-18T11:00:00Z,1\nyesterday,2\n")
	if r, err := send(t, upload.Options{Client: c, Reconcile: true}, bad); err != nil || r.Stored != 1 || r.Rejected != 1 {
		t.Errorf("with an invalid row: %+v, %v", r, err)
	}
}

// TestReconcile_RejectsUnknownTimes checks that a reconciliation is refused with a checkpoint, or if the
// client does not know the times or the devices of the readings.
func TestReconcile_RejectsUnknownTimes(t *testing.T) {
	c := newClient(t)
	line, csvFile := writeFile(t, "a.line", "m,device=d v=1 1\n"), writeFile(t, "a.csv", csv(1))
	for _, x := range []struct {
		o    upload.Options
		path string
	}{
		{upload.Options{}, line},
		{upload.Options{Params: url.Values{"time": {"arrival"}}}, csvFile},
		{upload.Options{Checkpoint: csvFile + ".state"}, csvFile},
	} {
		x.o.Client, x.o.Reconcile = c, true
		sources, err := new(upload.Selection).Sources([]string{x.path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := upload.New(x.o, sources); err == nil || !strings.Contains(err.Error(), "reconcile") {
			t.Errorf("%s with %+v: %v", x.path, x.o.Params, err)
		}
	}
}

// TestReconcile_AcceptsManyDays sends a file with one reading a day, for more days than one request can compare by
// hours.
// All readings must be stored.
func TestReconcile_AcceptsManyDays(t *testing.T) {
	const days = 4200
	var b strings.Builder
	b.WriteString("time,v\n")
	for i := range days {
		fmt.Fprintf(&b, "%s,1\n", noon.AddDate(0, 0, -i).Format(time.RFC3339))
	}
	path := writeFile(t, "s1.csv", b.String())
	policy := engine.DefaultRotation()
	policy.Retention.Classes[0].Retention = 2 * days * 24 * time.Hour
	r, err := send(t, upload.Options{Client: newClientOf(t, policy), Reconcile: true, Parallel: 2}, path)
	if err != nil || r.Stored != days {
		t.Errorf("%+v, %v, want %d stored readings", r, err, days)
	}
}

// beforeComparison calls a function before each comparison with the server.
type beforeComparison func()

func (f beforeComparison) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/digests") {
		f()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestReconcile_SendsRowsAppendedMeanwhile appends rows to a file while its first rows are compared, in hours that
// were compared and in another hour. The new rows must be sent, although the compared hours do not differ.
func TestReconcile_SendsRowsAppendedMeanwhile(t *testing.T) {
	_, url := newServer(t, engine.DefaultRotation())
	whole := rows(40, func(int) bool { return false })
	path := writeFile(t, "rows.csv", rows(20, func(int) bool { return false }))
	extend := beforeComparison(func() {
		if err := os.WriteFile(path, []byte(whole+"2026-11-18T12:00:00Z,d0,77\n"), 0o600); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(url, client.WithRetries(0), client.WithHTTPClient(&http.Client{Transport: extend}))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := send(t, upload.Options{Client: c}, path); err != nil || r.Stored != 20 {
		t.Fatalf("%+v, %v, want 20 stored", r, err)
	}
	r, err := send(t, upload.Options{Client: c, Reconcile: true}, path)
	if err != nil || r.Stored != 21 || r.Present != 20 {
		t.Errorf("%+v, %v, want 21 stored and 20 present", r, err)
	}
}
