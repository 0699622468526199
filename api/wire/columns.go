package wire

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve"
)

// ParseColumns reads the parameters of a write that describe the columns of a CSV
// body. The API and the command line share it.
func ParseColumns(q url.Values) (c Columns, err error) {
	c.Time, c.Device, c.ID = q.Get("time_column"), q.Get("device_column"), q.Get("id_column")
	if names := q.Get("columns"); names != "" {
		c.Names = strings.Split(names, ",")
	}
	if c.Delimiter, err = parseDelimiter(q.Get("delimiter")); err != nil {
		return c, err
	}
	c.Kinds, err = parseKinds(q.Get("types"))
	return c, err
}

// parseDelimiter reads a character, or tab; it returns 0 for the default.
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

// parseKinds reads the kinds of columns, as in serial:string,ok:boolean.
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
