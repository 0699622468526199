package upload

import (
	"path/filepath"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// formats maps the extensions of file names to formats.
var formats = map[string]wire.Format{
	".csv": wire.CSV, ".ndjson": wire.NDJSON, ".jsonl": wire.NDJSON, ".json": wire.JSON,
}

// parseFormat parses the name of a format.
func parseFormat(name string) (wire.Format, error) {
	f, ok := formats["."+name]
	if !ok {
		return 0, varve.InvalidParam("format", "%q is unknown: use csv, ndjson or json", name)
	}
	return f, nil
}

// formatOf returns the format and the compression of a file, by its name.
func formatOf(path string) (f wire.Format, c compression, ok bool) {
	name, c := splitCompression(strings.ToLower(path))
	f, ok = formats[filepath.Ext(name)]
	return f, c, ok
}

// baseName returns the name of a file without its extensions.
func baseName(path string) string {
	name, _ := splitCompression(filepath.Base(path))
	return strings.TrimSuffix(name, filepath.Ext(name))
}
