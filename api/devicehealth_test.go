package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
)

func deviceNames(l wire.DeviceHealthList) (of []string) {
	for _, d := range l.Devices {
		of = append(of, d.Device)
	}
	return of
}

// TestDeviceHealth_OrdersWorstFirst checks lag, completeness, alerts and the orders of devices.
func TestDeviceHealth_OrdersWorstFirst(t *testing.T) {
	s := newServer(t, nil)
	at := func(hours float64) time.Time { return noon.Add(-time.Duration(hours * float64(time.Hour))) }
	s.rule(`{"id":"hot","stream":"weather","field":"v","comparison":">","threshold":5,"severity":"warning"}`)
	s.write(
		numbered("full", at(3.5), `"v":1`), numbered("full", at(2.5), `"v":1`), numbered("full", at(1.5), `"v":1`), numbered("full", at(0.5), `"v":1`),
		numbered("half", at(3.5), `"v":1`), numbered("half", at(0.5), `"v":1`),
		numbered("late", at(50), `"v":1`), numbered("hot", at(2.5), `"v":9`),
		numbered("off", at(100), `"v":9`),
	)
	put := s.send(http.MethodPut, "/v1/devices/off", `{"status":"inactive","location":"Hall 7"}`, "Content-Type", "application/json")
	if put.status != http.StatusOK {
		t.Fatal(put.body)
	}
	list := func(query string) wire.DeviceHealthList {
		return decode[wire.DeviceHealthList](s.get("/v1/device-health?window=4h" + query))
	}
	all := list("")
	if got, want := deviceNames(all), []string{"hot", "late", "half", "full", "off"}; !slices.Equal(got, want) || all.Total != 5 || all.Hours != 4 {
		t.Fatalf("%v of %d in %d hours, want %v", got, all.Total, all.Hours, want)
	}
	if !all.From.Equal(at(4)) || !all.To.Equal(noon) {
		t.Errorf("window %s to %s", all.From, all.To)
	}
	if hot := all.Devices[0]; hot.OpenAlerts != 1 || hot.LateAlerts != 1 || hot.Severity != "warning" || *hot.HoursWith != 1 || *hot.HoursDue != 3 || *hot.Completeness != 1.0/3 {
		t.Errorf("hot: %+v", hot)
	}
	if half := all.Devices[2]; *half.Completeness != 0.5 || *half.LagSeconds != 1800 || len(half.Streams) != 1 || !half.Streams[0].Time.Equal(at(0.5)) || half.LastSeenAt == nil {
		t.Errorf("half: %+v", half)
	}
	for query, want := range map[string][]string{
		"&sort=name":                  {"full", "half", "hot", "late", "off"},
		"&sort=lag":                   {"off", "late", "hot", "full", "half"},
		"&sort=completeness":          {"late", "off", "hot", "half", "full"},
		"&search=HALL":                {"off"},
		"&search=L&status=active":     {"late", "half", "full"},
		"&sort=worst&device_type=tap": nil,
	} {
		if got := deviceNames(list(query)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, order := range []string{"worst", "name"} {
		whole, paged := deviceNames(list("&sort="+order)), []string(nil)
		for query := "&limit=2&sort=" + order; ; {
			page := list(query)
			paged = append(paged, deviceNames(page)...)
			if page.Next == "" {
				break
			}
			query = "&limit=2&sort=" + order + "&cursor=" + page.Next
		}
		if !slices.Equal(paged, whole) {
			t.Errorf("pages in the order %s: %v, want %v", order, paged, whole)
		}
	}
}

func TestDeviceHealth_NamesMistakes(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	next := decode[wire.DeviceHealthList](s.get("/v1/device-health?limit=1")).Next
	if next != "" {
		t.Errorf("one device has a next page: %s", next)
	}
	s.get("/v1/device-health?window=2y").problem(http.StatusBadRequest, "query.window", "31d")
	s.get("/v1/device-health?cursor=x").problem(http.StatusBadRequest, "query.cursor", "")
}

// TestDeviceHealth_CountsSinceFirstReading checks that a device is complete if it reported in each hour
// since its first reading, and that hours without data count after that.
func TestDeviceHealth_CountsSinceFirstReading(t *testing.T) {
	s := newServer(t, nil)
	at := func(hours float64) time.Time { return noon.Add(-time.Duration(hours * float64(time.Hour))) }
	s.write(
		numbered("newest", noon, `"v":1`), numbered("young", at(1.5), `"v":1`), numbered("young", at(0.5), `"v":1`),
		numbered("gap", at(5.5), `"v":1`), numbered("gap", at(0.5), `"v":1`), numbered("old", at(30), `"v":1`), numbered("old", at(0.5), `"v":1`),
	)
	for window, want := range map[string]string{
		"6h": "old 1/6, gap 2/6, newest 0/0, young 2/2", "4h": "gap 1/4, old 1/4, newest 0/0, young 2/2", "2d": "old 2/30, gap 2/6, newest 0/0, young 2/2",
	} {
		var got []string
		for _, d := range decode[wire.DeviceHealthList](s.get("/v1/device-health?sort=completeness&window=" + window)).Devices {
			if got = append(got, fmt.Sprintf("%s %d/%d", d.Device, *d.HoursWith, *d.HoursDue)); (d.Completeness == nil) != (*d.HoursDue == 0) {
				t.Errorf("%s in %s: completeness %v", d.Device, window, d.Completeness)
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: %s, want %s", window, text, want)
		}
	}
}
