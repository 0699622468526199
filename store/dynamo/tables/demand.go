package tables

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/items"
)

// The registry has one report per process, with the use of tables by that process. A report with many
// tables has several parts, each in an item of its own.
//
//	CONSUMED  PROCESS    report  {"since":…,"at":…,"tables":{NAME:{"now":…,"hours":{HOUR:…}}}}
//	CONSUMED  PROCESS-1  report  more tables
const (
	reportPK   = "CONSUMED"
	reportAttr = "report"
)

const (
	// scaleHours is the number of full hours whose peaks a capacity must serve.
	scaleHours = 6
	// reportFor is how long the report of a stopped process stays in the registry: longer than
	// scaleHours.
	reportFor = 24 * time.Hour
	// currentFor is the age up to which a report counts as the present use.
	currentFor = 90 * time.Second
)

// usage is the use of a table by one process, in units per second.
type usage struct {
	Now   client.Units           `json:"now"`             // use in the last measured interval
	Hours map[int64]client.Units `json:"hours,omitempty"` // largest use in each hour, by the hour's number since 1970

	ReadsThrottled  bool `json:"reads_throttled,omitempty"`
	WritesThrottled bool `json:"writes_throttled,omitempty"`
}

// report is the use of tables by one process. Since is the time of the first measurement, and
// At is the time of the last one, both in seconds since 1970.
type report struct {
	Since  int64            `json:"since"`
	At     int64            `json:"at"`
	Tables map[string]usage `json:"tables"`
}

func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

func newProcess() string { return rand.Text() }

func (r *report) item(key string) (store.Item, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return store.Item{}, fmt.Errorf("encode use of tables: %w", err)
	}
	return store.Item{
		Key: store.Key{PK: reportPK, SK: key}, Expires: time.Unix(r.At, 0).Add(reportFor),
		Attrs: map[string]varve.Value{reportAttr: varve.StringValue(string(text))},
	}, nil
}

// demand is the use of tables by all processes.
type demand struct {
	now, peak map[string]client.Units // present use, and peak of the last scaleHours, by table
	throttled map[string]usage        // by table; only ReadsThrottled and WritesThrottled are set in each usage
	// hours has the peaks of all reported hours, including hours before the last scaleHours.
	hours map[string]map[int64]client.Units
	// isComplete means that the reports cover all hours whose peaks count.
	isComplete bool
}

// need is the use of one table by all processes.
type need struct {
	now, peak                       client.Units
	readsThrottled, writesThrottled bool
	isComplete                      bool
}

// isInUse reports whether the table is read or written now.
func (n *need) isInUse() bool {
	return n.now != client.Units{} || n.readsThrottled || n.writesThrottled
}

func (d *demand) of(table string) need {
	refused := d.throttled[table]
	return need{d.now[table], d.peak[table], refused.ReadsThrottled, refused.WritesThrottled, d.isComplete}
}

// readDemand adds up the reports. In each hour, the true peak of a table is at most the sum
// of the peaks of all processes. readDemand uses this sum, so its result may be too high, and is never
// too low.
func readDemand(ctx context.Context, registry *items.Items, now time.Time) (*demand, error) {
	d := &demand{
		now: map[string]client.Units{}, peak: map[string]client.Units{}, throttled: map[string]usage{},
		hours: map[string]map[int64]client.Units{},
	}
	since := now
	err := eachItem(ctx, registry, reportPK, func(it *store.Item) error {
		var r report
		if err := json.Unmarshal([]byte(it.Attrs[reportAttr].Text()), &r); err != nil {
			return fmt.Errorf("use of tables in the registry: item %s of %s: %w", it.SK, reportPK, err)
		}
		if start := time.Unix(r.Since, 0); start.Before(since) {
			since = start
		}
		d.add(&r, now)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for table, peaks := range d.hours {
		for hour, u := range peaks {
			if hour >= hourOf(now)-scaleHours {
				d.peak[table] = larger(d.peak[table], u)
			}
		}
	}
	d.isComplete = now.Sub(since) >= scaleHours*time.Hour
	return d, nil
}

func (d *demand) add(r *report, now time.Time) {
	isCurrent := now.Sub(time.Unix(r.At, 0)) <= currentFor
	for table, u := range r.Tables {
		if isCurrent {
			d.now[table] = sum(d.now[table], u.Now)
			was := d.throttled[table]
			d.throttled[table] = usage{ReadsThrottled: was.ReadsThrottled || u.ReadsThrottled, WritesThrottled: was.WritesThrottled || u.WritesThrottled}
		}
		for hour, peak := range u.Hours {
			if d.hours[table] == nil {
				d.hours[table] = map[int64]client.Units{}
			}
			d.hours[table][hour] = sum(d.hours[table][hour], peak)
		}
	}
}

func sum(a, b client.Units) client.Units {
	return client.Units{Read: a.Read + b.Read, Write: a.Write + b.Write}
}

func larger(a, b client.Units) client.Units {
	return client.Units{Read: max(a.Read, b.Read), Write: max(a.Write, b.Write)}
}
