package upload

import (
	"path/filepath"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// parseFormat parses the name of a format, or an extension of its files.
func parseFormat(name string) (wire.Format, error) {
	if f, ok := wire.ParseBodyFormat(name); ok {
		return f, nil
	}
	if f, ok := wire.FormatOfFile("." + name); ok {
		return f, nil
	}
	return 0, varve.InvalidParam("format", "%q is unknown: use %s", name, FormatNames())
}

// FormatNames returns the names of the formats of files, as in "parquet, json or csv".
func FormatNames() string { return FormatParquet + ", " + wire.BodyFormatNames() }

// formatOf returns the format and the compression of a file, by its name.
func formatOf(path string) (f wire.Format, c compression, ok bool) {
	name, c := splitCompression(strings.ToLower(path))
	if c == "" && strings.HasSuffix(name, parquetExtension) {
		return wire.NDJSON, parquetForm, true
	}
	f, ok = wire.FormatOfFile(name)
	return f, c, ok
}

func baseName(path string) string {
	name, _ := splitCompression(filepath.Base(path))
	return strings.TrimSuffix(name, filepath.Ext(name))
}
