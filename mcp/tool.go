package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/varvedb/varve"
)

// maxAnswer is the maximum length of an answer in bytes. Hosts pass the answer to a model, whose context
// is limited.
const maxAnswer = 100_000

// tool is the name, the title and the description of a tool.
type tool struct {
	name, title, about string
}

// add adds a tool whose parameters are the fields of In. Its answers have the fields of Out.
//
// It does not use sdk.AddTool, because sdk.AddTool decodes answers, and numbers would lose digits.
func add[In, Out any](s *Server, t tool, call func(context.Context, In) (Out, error)) error {
	in, err := jsonschema.For[In](nil)
	if err != nil {
		return fmt.Errorf("mcp: parameters of %s: %w", t.name, err)
	}
	out, err := jsonschema.For[Out](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return fmt.Errorf("mcp: answer of %s: %w", t.name, err)
	}
	params, err := in.Resolve(nil)
	if err != nil {
		return fmt.Errorf("mcp: parameters of %s: %w", t.name, err)
	}
	closed := false
	s.sdk.AddTool(&sdk.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: in, OutputSchema: out,
		Annotations: &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args In
		if err := decode(req.Params.Arguments, params, &args); err != nil {
			return failed(err), nil
		}
		if s.timeout > 0 {
			limited, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no answer within %s: select fewer readings", s.timeout))
			defer cancel()
			ctx = limited
		}
		answer, err := call(ctx, args)
		if err != nil {
			return failed(withCause(ctx, err)), nil
		}
		return result(answer)
	})
	return nil
}

// decode checks the arguments of a call against the schema of the parameters, and decodes them.
func decode(text json.RawMessage, params *jsonschema.Resolved, args any) error {
	if len(text) == 0 || string(text) == "null" {
		text = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if err := params.Validate(value); err != nil {
		return fmt.Errorf("arguments: %w: see the tool's input schema", err)
	}
	return json.Unmarshal(text, args)
}

// result returns an answer as JSON. An answer of more than maxAnswer bytes becomes an error with the
// remedy.
func result(answer any) (*sdk.CallToolResult, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	if len(text) > maxAnswer {
		return failed(fmt.Errorf("the answer has %d bytes, at most %d are returned: select less, by a shorter window, a lower limit or fewer fields", len(text), maxAnswer)), nil
	}
	return &sdk.CallToolResult{StructuredContent: json.RawMessage(text), Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil
}

func failed(err error) *sdk.CallToolResult {
	r := &sdk.CallToolResult{}
	r.SetError(errors.New(message(err)))
	return r
}

// withCause adds to an error the reason for which a context is done. If ctx is not done, it returns err.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// remedies replaces HTTP routes in remedies with tools, and removes prefixes such as "query." from the
// names of parameters.
var remedies = strings.NewReplacer(
	"GET /v1/streams lists all streams", "the tool streams lists all streams",
	"GET /v1/devices lists all devices", "the tool devices lists all devices",
	"GET /v1/alerts lists all alerts", "the tool alerts lists all alerts",
	"query.", "", "path.", "")

func message(err error) string {
	var e *varve.Error
	if errors.As(err, &e) && e.Failure == varve.Forbidden {
		return e.Error() + ": start varve mcp with a key that may read this, in VARVE_KEY or with --key-file"
	}
	return remedies.Replace(err.Error())
}

type window struct {
	From   string `json:"from,omitempty" jsonschema:"beginning of the window of event time, inclusive: RFC 3339, a date or month, now, today, yesterday, or relative as in -24h or -1mo"`
	To     string `json:"to,omitempty" jsonschema:"end of the window, exclusive, in the same forms"`
	During string `json:"during,omitempty" jsonschema:"instead of from and to: a year, month, day, hour or minute, as in 2026-04 or 2026-04-20T14"`
}

// limitOf returns the limit to use. If the given limit is 0, this is the argument "def". Otherwise, it is
// the smaller of the given limit and the argument "most". A negative limit is an error.
func limitOf(limit, def, most int) (int, error) {
	switch {
	case limit < 0:
		return 0, fmt.Errorf("limit: %d is negative: use 1 to %d", limit, most)
	case limit == 0:
		return def, nil
	}
	return min(limit, most), nil
}

// more is the note on a page that is not the last one.
const more = "More exist: call the tool again with cursor, and otherwise the same parameters."

// fitting returns the first entries whose JSON fits into an answer, and whether others were left out.
func fitting[T any](entries []T) (shown []T, cut bool, err error) {
	const room = maxAnswer - 10_000 // 10,000 bytes are for the other properties of the answer
	size := 0
	for i := range entries {
		text, err := json.Marshal(entries[i])
		if err != nil {
			return nil, false, err
		}
		if size += len(text) + 1; size > room {
			return entries[:i], true, nil
		}
	}
	return entries, false, nil
}
