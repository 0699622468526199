package wire

import (
	"io"
	"mime"
	"path/filepath"
	"slices"
	"strings"
)

// Format is a format of readings.
type Format uint8

// The formats. Each has an element in entries.
const (
	JSON       Format = iota + 1 // an object or an array of objects
	NDJSON                       // one object per line
	CSV                          // one reading per row, after a header
	Line                         // line protocol of InfluxDB: one point per line
	ColumnJSON                   // one object with an array per column; only for answers
	Arrow                        // stream of Apache Arrow; only for answers of readings
)

// entries has the entry of each format, in the order in which messages list the formats.
var entries = [...]entry{
	JSON:       jsonEntry,
	NDJSON:     ndjsonEntry,
	CSV:        csvEntry,
	Line:       lineEntry,
	ColumnJSON: columnsEntry,
	Arrow:      arrowEntry,
}

// entry describes a format. Each entry is defined in the file of its format.
type entry struct {
	title string // the format's name in messages
	name  string // value of the parameter "format"
	// media has the media types. Answers and sent bodies have the first one.
	media []string
	// bodyMedia has further media types of the format, which are accepted only in requests.
	bodyMedia []string
	// extensions has the extensions of files.
	extensions []string
	// newReader returns a reader of a body. If nil, the format occurs only in answers.
	newReader func(mem *Memory, body io.Reader, d Defaults, c Columns) (Reader, error)
	// onlyBodies means that answers do not have the format.
	onlyBodies bool
	// newCutter returns a cutter of a file.
	newCutter func(b *buffer, c Columns) cutter
	// pieces is the format of the pieces of a file. 0 means the format of the file.
	pieces Format
}

// bodyMedia maps the media types of requests to formats.
var bodyMedia = func() map[string]Format {
	all := map[string]Format{}
	for f, e := range entries {
		if e.newReader == nil {
			continue
		}
		for _, media := range slices.Concat(e.media, e.bodyMedia) {
			all[bareMedia(media)] = Format(f)
		}
	}
	return all
}()

// bareMedia returns a media type without parameters.
func bareMedia(media string) string {
	bare, _, _ := strings.Cut(media, ";")
	return strings.TrimSpace(bare)
}

func (f Format) entry() *entry {
	if int(f) < len(entries) {
		return &entries[f]
	}
	return &entries[0]
}

func (f Format) String() string {
	if title := f.entry().title; title != "" {
		return title
	}
	return "unknown"
}

// MediaType returns the media type of the format.
func (f Format) MediaType() string {
	if media := f.entry().media; len(media) > 0 {
		return media[0]
	}
	return JSON.MediaType()
}

// PieceFormat returns the format of the pieces into which a Splitter cuts a file.
func (f Format) PieceFormat() Format {
	if pieces := f.entry().pieces; pieces != 0 {
		return pieces
	}
	return f
}

// FormatOf returns the format of a Content-Type. A missing type and the default types of HTTP
// clients, such as curl's, mean JSON. FormatOf returns false for media types that are not formats of
// readings.
func FormatOf(contentType string) (Format, bool) {
	if contentType == "application/json" || contentType == "" {
		return JSON, true
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, false
	}
	f, ok := bodyMedia[media]
	return f, ok
}

// AnswerFormatOf returns the format of an answer for a media type of Accept.
func AnswerFormatOf(media string) (Format, bool) {
	media = bareMedia(media)
	for f, e := range entries {
		if !e.onlyBodies && slices.ContainsFunc(e.media, func(m string) bool { return bareMedia(m) == media }) {
			return Format(f), true
		}
	}
	return 0, false
}

// FormatOfFile returns the format of a file by its extension, or false if no format has the
// extension.
func FormatOfFile(name string) (Format, bool) {
	extension := strings.ToLower(filepath.Ext(name))
	for f, e := range entries {
		if slices.Contains(e.extensions, extension) {
			return Format(f), true
		}
	}
	return 0, false
}

// ParseFormat returns the format with the given name, such as ndjson, if answers can have the format.
func ParseFormat(name string) (Format, bool) {
	f, ok := named(name)
	if !ok || f.entry().onlyBodies {
		return 0, false
	}
	return f, true
}

// named returns the format with the given name, or false if no format has it.
func named(name string) (Format, bool) {
	for f, e := range entries {
		if e.name == name && name != "" {
			return Format(f), true
		}
	}
	return 0, false
}

// ParseBodyFormat returns the format with the given name, if requests and files can have the format.
func ParseBodyFormat(name string) (Format, bool) {
	if f, ok := named(name); ok && f.entry().newReader != nil {
		return f, true
	}
	return 0, false
}

// BodyFormats returns the formats of requests and files.
func BodyFormats() []Format {
	var all []Format
	for f, e := range entries {
		if e.newReader != nil {
			all = append(all, Format(f))
		}
	}
	return all
}

// Name returns the name of the format, as in the parameter "format".
func (f Format) Name() string { return f.entry().name }

// FormatNames returns the names that ParseFormat accepts, as in "json, ndjson or csv".
func FormatNames() string {
	var names []string
	for _, e := range entries[1:] {
		if !e.onlyBodies {
			names = append(names, e.name)
		}
	}
	return enumerate(names)
}

// BodyFormatNames returns the names that ParseBodyFormat accepts.
func BodyFormatNames() string { return bodyList(Format.Name) }

// BodyMediaTypes returns a media type of each format of requests, as a list for messages.
func BodyMediaTypes() string {
	return bodyList(func(f Format) string { return bareMedia(f.MediaType()) })
}

// FileExtensions returns the extensions that FormatOfFile accepts, as a list for messages.
func FileExtensions() string {
	var all []string
	for _, e := range entries {
		all = append(all, e.extensions...)
	}
	return enumerate(all)
}

func bodyList(word func(Format) string) string {
	var words []string
	for _, f := range BodyFormats() {
		words = append(words, word(f))
	}
	return enumerate(words)
}

// enumerate returns words as in "json, ndjson or csv".
func enumerate(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
