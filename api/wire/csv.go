package wire

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/varvedb/varve"
)

// Columns defines the meaning of the columns of a CSV body.
type Columns struct {
	// Names are the names of the columns. If empty, the first row is the header.
	Names []string
	// Time, Device and ID name the columns of the time, the device and the id.
	//
	// A column that is named here must exist. The default of Time is "time", or else "timestamp". Both
	// may have capitals. The default of Device is "device", and may have capitals unless a device is
	// given for all rows. The default of ID is "id".
	//
	// All other columns are fields, except "_version", the version of a correction, and the columns
	// "arrived" and "_strings", which occur in answers. See StringsColumn. A field with the name of another
	// column has the prefix "fields." in the header: the column "fields.time" is the field time. See
	// FieldName.
	Time, Device, ID string
	// Kinds has the kind of the values of a field, by column. A column that is named must exist. For
	// other columns, the text of a cell determines the kind: a number, true or false, a JSON object
	// or array, or else a string.
	Kinds map[string]varve.Kind
	// Delimiter separates columns. 0 means a comma.
	Delimiter rune
	// Name and Value name the columns of the long form, which has one row per value. See longForm.
	Name, Value string
	// DeviceColumns, if set, is the name of the field of all cells. Then each column is a device, except
	// the columns of the time, the id and the version, and the column "arrived".
	DeviceColumns string
	Nulls         []string // texts of cells that stand for missing values
	Decimal       rune     // the decimal separator of numbers: a comma; 0 means a point
	SkipBadCells  bool     // omits invalid cells, instead of rejecting their readings
}

func (c *Columns) comma() rune {
	if c.Delimiter == 0 {
		return ','
	}
	return c.Delimiter
}

// ParseKind parses the name of a kind of value.
func ParseKind(s string) (varve.Kind, error) {
	for _, k := range []varve.Kind{varve.KindNumber, varve.KindString, varve.KindBool, varve.KindJSON} {
		if strings.EqualFold(k.String(), s) {
			return k, nil
		}
	}
	return 0, fmt.Errorf("kind %q is unknown: use number, string, boolean or json", s)
}

var csvEntry = entry{
	title: "CSV", name: "csv",
	media:      []string{"text/csv; charset=utf-8"},
	bodyMedia:  []string{"application/csv"},
	extensions: []string{".csv"},
	newReader: func(mem *Memory, body io.Reader, d Defaults, c Columns) (Reader, error) {
		return newCSV(mem, body, d, c)
	},
	newCutter: func(b *buffer, c Columns) cutter { return newRowCutter(b, c) },
}

// csvReader reads the readings of a CSV body. An empty cell means that the field is absent, unless
// StringsColumn lists the field.
type csvReader struct {
	Defaults
	Columns
	in    rowReader
	roles []role
	// version is the version of the row that is read.
	version uint32
	// listed has the names of the fields that StringsColumn lists in the row.
	listed     []string
	hasStrings bool // the body has StringsColumn
	begun      bool
	long       longForm
}

// role is the meaning of a column.
type role struct {
	use  use
	name string
	kind varve.Kind // 0 if the text of the cell determines the kind
}

type use uint8

const (
	useField use = iota
	useTime
	useDevice
	useID
	useVersion
	useStrings // the column lists fields whose values are strings
	useName    // the column has names of fields, as in longForm
	useValue   // the column has values of fields, as in longForm
	useNothing
)

func newCSV(mem *Memory, body io.Reader, d Defaults, c Columns) (*csvReader, error) {
	comma := c.comma()
	if comma == '"' || comma == '\n' || comma == '\r' || !utf8.ValidRune(comma) {
		return nil, varve.InvalidParam("delimiter", "%q cannot separate columns", comma)
	}
	mem.buffer.reset(body)
	mem.buffer.bounded = true
	return &csvReader{Defaults: d, Columns: c, in: rowReader{buffer: &mem.buffer, comma: []byte(string(comma))}}, nil
}

// Read implements Reader.
func (c *csvReader) Read(b *Batch) error {
	if !c.begun {
		if err := c.begin(b); err != nil {
			return err
		}
	}
	if deferred := c.long.deferred; deferred != nil {
		c.long.deferred = nil
		c.longRow(b, deferred.cells, deferred.line)
		c.recordRow(b, b.Len()-1)
	}
	for !b.Full() || c.long.isOpen() {
		cells, line, bad, err := c.in.next(len(c.roles))
		if bad != nil {
			c.long.end()
		}
		before := b.Len()
		switch {
		case err != nil:
			return err
		case errors.Is(bad, errLineTooLong):
			b.add(line)
			b.reject(varve.Reject(varve.CodeTooLarge, "the line is longer than %d bytes", maxLine))
		case bad != nil:
			b.add(line)
			b.reject(varve.Reject(varve.CodeMalformed, "not a row of CSV: %s", bad))
		case c.isLong():
			if !c.longRow(b, cells, line) {
				return nil
			}
		case c.DeviceColumns != "":
			c.wideRow(b, cells, line)
		default:
			c.row(b, cells, line)
		}
		c.recordRow(b, before)
	}
	return nil
}

// recordRow records the last row as the text of the readings that the row added. The parameter "from"
// is the index of the first of these readings. In the long form, a row can also add a line to the
// text of an earlier reading.
func (c *csvReader) recordRow(b *Batch, from int) {
	switch {
	case !b.RecordTexts:
	case from == b.Len():
		if c.long.isOpen() {
			b.extendText(c.in.text)
		}
	default:
		b.shareText(from, c.in.text)
	}
}

// isLong reports whether the body is in the long form.
func (c *csvReader) isLong() bool { return c.Columns.Name != "" }

// begin reads the header and assigns the roles.
func (c *csvReader) begin(b *Batch) error {
	c.begun = true
	if len(c.Names) > 0 {
		return c.assign(c.Names)
	}
	cells, _, bad, err := c.in.next(0)
	switch {
	case errors.Is(err, io.EOF):
		return bodyErrorf("the body is empty: the first row names the columns")
	case err != nil:
		return err
	case bad != nil:
		return bodyErrorf("the header is not a row of CSV: %s", bad)
	}
	if b.RecordTexts {
		b.recordHeader(c.in.text)
	}
	names := make([]string, len(cells))
	for i, cell := range cells {
		names[i] = string(cell)
	}
	return c.assign(names)
}

func (c *csvReader) assign(names []string) error {
	timeColumn := orDefault(c.Columns.Time, among(names, "time", "timestamp"))
	device, id := c.DeviceColumn(names, c.Defaults.Device != ""), orDefault(c.Columns.ID, "id")
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return bodyErrorf("column %q occurs twice", name)
		}
		if strings.Contains(strings.ReplaceAll(name, "\r\n", ""), "\r") {
			return bodyErrorf("the header contains a carriage return: end lines with a line feed, as in \\n or \\r\\n")
		}
		seen[name] = true
		r := role{name: name, kind: c.Kinds[name]}
		switch name {
		case "": // a value in this column is a field without a name, which is rejected
		case timeColumn:
			r.use = useTime
		case device:
			if c.DeviceColumns == "" {
				r.use = useDevice
			}
		case id:
			r.use = useID
		case VersionColumn:
			r.use = useVersion
		case c.Columns.Name:
			r.use = useName
		case c.Columns.Value:
			r.use = useValue
		case "arrived":
			r.use = useNothing
		case StringsColumn:
			if !c.IsReshaped() {
				r.use, c.hasStrings = useStrings, true
			}
		default:
			r.name = FieldName(name) // in answers, a field with a reserved name has the prefix "fields."
		}
		c.roles = append(c.roles, r)
	}
	if !slices.Contains(names, timeColumn) && (c.Arrival.IsZero() && c.replacedTime().IsZero() || c.Columns.Time != "") {
		return missingColumn("time_column", "Name the one with the time", timeColumn, names)
	}
	if c.Defaults.Device == "" && c.replacedDevice() == "" && c.DeviceColumns == "" && !slices.Contains(names, device) {
		return missingColumn("device_column", "Name the one with the device, or the device of all rows", device, names)
	}
	if c.DeviceColumns != "" && len(names) > maxDeviceColumns {
		return bodyErrorf("the header has %d columns, and a file with columns for devices has at most %d: divide the file", len(names), maxDeviceColumns)
	}
	return c.checkColumns(names)
}

// missingColumn returns an error about a column that the header lacks. The argument "param" is the
// parameter that can name another column.
func missingColumn(param, remedy, name string, names []string) error {
	return &BodyError{Message: fmt.Sprintf("column %q is missing; the columns are %s. %s", name, list(names), remedy), Param: param}
}

// checkColumns rejects options that name a missing column. Otherwise a typo could assign readings
// to the wrong device.
func (c *csvReader) checkColumns(names []string) error {
	said := append(slices.Sorted(maps.Keys(c.Kinds)), c.Columns.Device, c.Columns.ID, c.Columns.Name, c.Columns.Value)
	for _, name := range said {
		if name != "" && !slices.Contains(names, name) {
			return bodyErrorf("column %q is missing; the columns are %s", name, list(names))
		}
	}
	return nil
}

// list returns names of columns as text. It quotes names that a terminal cannot print.
func list(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		if shown[i] = name; strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			shown[i] = strconv.Quote(name)
		}
	}
	return strings.Join(shown, ", ")
}

// DeviceColumn returns Device, or the default name of the device column if Device is empty.
//
// A default name with capitals counts only if no device is given for all rows. Otherwise the column may
// be a field.
func (c *Columns) DeviceColumn(names []string, given bool) string {
	switch {
	case c.Device != "":
		return c.Device
	case given:
		return "device"
	default:
		return among(names, "device")
	}
}

// among returns the column whose name is one of several words, with or without capitals. Earlier words
// take precedence, and the exact word precedes other spellings. If no column matches, it returns the
// first word.
func among(names []string, words ...string) string {
	for _, word := range words {
		if slices.Contains(names, word) {
			return word
		}
		if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, word) }); i >= 0 {
			return names[i]
		}
	}
	return words[0]
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// row adds a row to the batch as a reading. It returns false if the row has the wrong number of
// columns.
func (c *csvReader) row(b *Batch, cells [][]byte, line int) bool {
	r := b.add(line)
	r.Tenant, r.Stream, r.Device, r.Time = c.Tenant, c.Stream, c.Defaults.Device, c.Arrival
	if at := c.replacedTime(); !at.IsZero() {
		r.Time = at
	}
	if device := c.replacedDevice(); device != "" {
		b.setDevice(r, device)
	}
	if len(cells) != len(c.roles) {
		b.reject(varve.Reject(varve.CodeMalformed, "the row has %s, and the header %d", count(len(cells), "column"), len(c.roles)))
		return false
	}
	verdict := c.readStrings(cells)
	c.version = 0
	from := b.begin()
	for i, cell := range cells {
		if c.isLong() && c.roles[i].use == useField {
			continue // longFields adds this cell
		}
		if v := c.rowCell(b, r, &c.roles[i], cell); v.Outcome != 0 && verdict.Outcome == 0 {
			verdict = v
		}
	}
	b.end(from, r)
	if v := setVersion(r, c.version); verdict.Outcome == 0 {
		verdict = v
	}
	if r.Device == "" && verdict.Outcome == 0 {
		verdict = varve.Reject(varve.CodeDeviceInvalid, "the device is empty")
	}
	b.reject(verdict)
	return true
}

// rowCell adds one cell of a row to the reading. It applies StringsColumn and Nulls.
func (c *csvReader) rowCell(b *Batch, r *varve.Reading, role *role, cell []byte) varve.Verdict {
	if c.isListed(role) {
		return c.addField(b, role.name, cell, varve.KindString)
	}
	return c.cell(b, r, role, c.present(cell))
}

// cell adds one cell to the reading, by the role of its column.
func (c *csvReader) cell(b *Batch, r *varve.Reading, role *role, cell []byte) (v varve.Verdict) {
	switch {
	case role.use == useTime && !c.replacedTime().IsZero(), role.use == useDevice && c.replacedDevice() != "":
	case role.use == useTime && len(cell) == 0 && !c.Arrival.IsZero():
	case role.use == useTime:
		r.Time, v = c.Defaults.Time.parseBytes(cell)
	case len(cell) == 0:
	case role.use == useDevice:
		r.Device = b.device(cell)
	case role.use == useID:
		var err error
		if r.ID, err = varve.ParseID(string(cell)); err != nil {
			v = varve.Reject(varve.CodeIDInvalid, "%s", err)
		}
	case role.use == useVersion:
		c.version, v = parseVersion(cell)
	case role.use == useField:
		return c.addField(b, role.name, cell, role.kind)
	}
	return v
}
