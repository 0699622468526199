package aggregate

import (
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/query"
)

// Limits of a query.
const (
	// MaxValues is the largest number of values in an answer: buckets × devices × fields ×
	// functions.
	MaxValues = 200_000
	// MaxPercentileNumbers limits how many numbers a query stores in memory for percentiles.
	MaxPercentileNumbers = 1_000_000
	// MaxDevices is the largest number of devices in a query.
	MaxDevices = 10_000
	// MaxTop is the largest number of devices in a ranking.
	MaxTop = 1000
)

// Fill selects how buckets without readings are returned.
type Fill uint8

// Rules for buckets without readings. With any rule except NoFill, a device with readings has a row for
// every bucket of the window, and counts of added buckets are 0. If an end of the window is open, the
// buckets begin at the first reading or end at the last one.
const (
	NoFill       Fill = iota // buckets without readings are omitted
	FillNull                 // the values of buckets without readings are null
	FillPrevious             // each missing value equals the last known value of an earlier bucket; null if none is known
	FillLinear               // each missing value is interpolated between the nearest buckets with values
)

// ParseFill parses "none", "null", "previous" or "linear". The default for "" is "none".
func ParseFill(text string) (Fill, error) {
	if text == "" {
		return NoFill, nil
	}
	i := slices.Index([]string{"none", "null", "previous", "linear"}, text)
	if i < 0 {
		return 0, fmt.Errorf("%s is unknown: use none, null, previous or linear", quote.Text(text))
	}
	return Fill(i), nil
}

// Source selects the data that a query reads.
type Source uint8

// Sources of a query. FromReadings uses only readings that are not expired, unless Query.Archive
// selects archives. FromRollups also includes expired readings, but excludes readings that were
// written while roll-ups were off.
const (
	FromReadings Source = iota
	FromRollups
)

func (s Source) String() string {
	if s == FromRollups {
		return "rollups"
	}
	return "readings"
}

// ParseSource parses "readings" or "rollups". The default for "" is readings.
func ParseSource(text string) (Source, error) {
	switch text {
	case "", "readings":
		return FromReadings, nil
	case "rollups":
		return FromRollups, nil
	}
	return 0, fmt.Errorf("%s is unknown: use readings or rollups", quote.Text(text))
}

// Top selects the devices with the highest values over the whole window. The zero Top does not
// limit the devices.
type Top struct {
	Devices  int // maximum number of devices; 0 means all
	Function Function
	Field    string
}

// Query selects devices of one stream, and the functions and buckets to compute.
type Query struct {
	Tenant, Stream string
	Devices        []string
	Window         varve.Window
	Step           Step
	Functions      []Function
	Fields         []string      // if empty, all fields
	Where          filter.Filter // if set, only matching readings are used; must be empty for FromRollups
	Fill           Fill
	Merge          bool // if true, one row per bucket for all devices together, instead of one per device
	Top            Top
	Source         Source
	Consistent     bool // if true, includes every acknowledged reading
	SkipDamaged    bool // if true, omits damaged rows and lists them in the coverage
	// AsOf, if set, excludes readings that arrived later; see query.Query.
	AsOf time.Time
	// Archive selects archived tables; see query.Query. It must not be set if Source is FromRollups,
	// because roll-ups outlive their tables.
	Archive query.Archives
}

// Validate checks everything in the query that can be checked without a store.
func (q *Query) Validate() error {
	switch {
	case q.Step.IsZero():
		return varve.InvalidParam("step", "missing: use a duration as in 5m, or 1d, 1w, 1mo, 1y")
	case len(q.Functions) == 0:
		return varve.InvalidParam("functions", "missing: use %s", FunctionNames)
	case len(q.Devices) > MaxDevices:
		return varve.InvalidParam("devices", "%d exceed the limit %d: select fewer devices", len(q.Devices), MaxDevices)
	}
	if err := q.Window.Validate(); err != nil {
		return varve.InvalidParam("to", "%s", err)
	}
	if err := q.validateTop(); err != nil {
		return err
	}
	if q.Source == FromRollups {
		return q.validateRollups()
	}
	return nil
}

func (q *Query) validateTop() error {
	t := &q.Top
	switch {
	case t.Devices == 0:
	case t.Devices < 0 || t.Devices > MaxTop:
		return varve.InvalidParam("top", "%d is out of range: use 1 to %d", t.Devices, MaxTop)
	case q.Merge:
		return varve.InvalidParam("top", "ranks devices: use group=device, or omit top")
	case t.Field == "":
		return varve.InvalidParam("top_field", "missing: name the field that ranks devices")
	case len(q.Fields) > 0 && !slices.Contains(q.Fields, t.Field):
		return varve.InvalidParam("top_field", "%s is not among fields: add it", quote.Text(t.Field))
	}
	return nil
}

// validateRollups checks that roll-ups can answer the query. Among other conditions, each end of the
// window must be at a whole hour or open.
func (q *Query) validateRollups() error {
	if len(q.Where) > 0 {
		return varve.InvalidParam("where", "source=rollups has no single readings: omit where, or use source=readings")
	}
	if q.SkipDamaged {
		return varve.InvalidParam("damaged", "source=rollups cannot skip rows: omit damaged, or use source=readings")
	}
	if q.Archive != query.NoArchives {
		return varve.InvalidParam("archive", "source=rollups includes dropped tables: omit archive, or use source=readings")
	}
	functions := q.Functions
	if q.Top.Devices > 0 {
		functions = append(slices.Clone(functions), q.Top.Function)
	}
	for _, f := range functions {
		if !f.inRollups() {
			return varve.InvalidParam("functions", "roll-ups do not hold %s: use source=readings, or numbers, sum, mean, min, max, first, last", f)
		}
	}
	const remedy = "source=rollups requires whole hours: use a whole hour, or source=readings"
	switch w := q.Window; {
	case !onHour(w.From):
		return varve.InvalidParam("from", remedy)
	case !onHour(w.To) && w.To.Before(varve.AllTime().To):
		return varve.InvalidParam("to", remedy)
	}
	return nil
}

// Row has the results for one bucket of one device, or of all devices if the query merges them.
type Row struct {
	Device   string // "" if the query merges devices
	Start    int64  // the start of the bucket in unix seconds
	Readings int64
	Fields   []Field // sorted by name
}

// Field has the results for one field in one bucket.
type Field struct {
	Name    string
	Ignored int64   // number of values that are not numbers; only the function count includes them
	Values  []Value // values in the order of the functions of the query
}
