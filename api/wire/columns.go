package wire

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// maxNulls is the maximum number of texts that stand for missing values. Each cell is compared with all.
const maxNulls = 100

// ParseColumns parses the parameters of a write that describe the columns of a CSV body. The flags of
// varve ingest are parsed by this function, too.
func ParseColumns(q url.Values) (c Columns, err error) {
	c.Time, c.Device, c.ID = q.Get("time_column"), q.Get("device_column"), q.Get("id_column")
	if names := q.Get("columns"); names != "" {
		c.Names = strings.Split(names, ",")
	}
	if c.Delimiter, err = parseDelimiter(q.Get("delimiter")); err != nil {
		return c, err
	}
	if c.Kinds, err = parseKinds(q.Get("types")); err != nil {
		return c, err
	}
	return c, c.parseCells(q)
}

// parseCells parses the parameters about cells, and about rows that are not one reading each.
func (c *Columns) parseCells(q url.Values) error {
	c.Name, c.Value, c.DeviceColumns = q.Get("name_column"), q.Get("value_column"), q.Get("device_columns")
	switch {
	case c.Name != "" && c.Value == "":
		return varve.InvalidParam("query.value_column", "missing: name the column with the values of name_column")
	case c.Name == "" && c.Value != "":
		return varve.InvalidParam("query.name_column", "missing: name the column with the names of the fields")
	case c.Name != "" && c.DeviceColumns != "":
		return varve.InvalidParam("query.device_columns", "excludes name_column: omit one of them")
	case c.Device != "" && c.DeviceColumns != "":
		return varve.InvalidParam("query.device_columns", "excludes device_column: omit one of them")
	}
	if text := q.Get("null"); text != "" {
		if n := strings.Count(text, ",") + 1; n > maxNulls {
			return varve.InvalidParam("query.null", "lists %d texts: use at most %d", n, maxNulls)
		}
		c.Nulls = strings.Split(text, ",")
	}
	switch text := q.Get("decimal"); {
	case text == "" || text == ".":
	case text != ",":
		return varve.InvalidParam("query.decimal", "%s is unknown: use a comma or a point", quote.Text(text))
	case c.Delimiter == 0 || c.Delimiter == ',':
		return varve.InvalidParam("query.decimal", "a comma separates columns: set delimiter as well, as in delimiter=%%3B, a semicolon")
	default:
		c.Decimal = ','
	}
	switch text := q.Get("bad_cells"); text {
	case "", "reject":
	case "skip":
		c.SkipBadCells = true
	default:
		return varve.InvalidParam("query.bad_cells", "%s is unknown: use reject or skip", quote.Text(text))
	}
	return nil
}

// parseDelimiter parses a delimiter: one character, the word tab, or \t. It returns 0 for the default.
func parseDelimiter(text string) (rune, error) {
	if text == "tab" || text == `\t` {
		return '\t', nil
	}
	if text == "" {
		return 0, nil
	}
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) {
		return 0, varve.InvalidParam("query.delimiter", "%q is not one character: use one, or tab", text)
	}
	return r, nil
}

// parseKinds parses the kinds of values by column, as in serial:string,ok:boolean.
func parseKinds(text string) (map[string]varve.Kind, error) {
	if text == "" {
		return nil, nil
	}
	kinds := map[string]varve.Kind{}
	for _, part := range strings.Split(text, ",") {
		name, kind, ok := strings.Cut(part, ":")
		k, err := ParseKind(kind)
		if !ok || err != nil {
			return nil, varve.InvalidParam("query.types",
				"%q is not a column and its kind: write name:kind, as in serial:string; kinds are number, string, boolean and json", part)
		}
		kinds[name] = k
	}
	return kinds, nil
}
