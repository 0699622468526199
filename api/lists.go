package api

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

func deviceOp(tag, id, method, path, summary, description string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: description, Tags: []string{tag}}
}

// Paging has the parameters of the pages of a list. It is exported because huma ignores unexported
// embedded types.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" doc:"maximum number on a page; default 100"`
	Cursor string `query:"cursor" doc:"next of the page before; the other parameters must be the same"`
}

// prefixParam adds a prefix and a dot to the parameter of an error, as in query.limit. For the parameters
// in the argument "path", the prefix is the word path. For all others, it is the argument "rest".
func prefixParam(err error, rest string, path ...string) error {
	e := classify(err)
	if e.Param == "" {
		return err
	}
	prefix := rest
	for _, name := range path {
		if name == e.Param {
			prefix = "path"
		}
	}
	return withParam(e, prefix+"."+e.Param)
}

// jsonValue parses a JSON object or array. For empty text and null, it returns the zero Value.
func jsonValue(param string, text json.RawMessage) (varve.Value, error) {
	if len(text) == 0 || string(text) == "null" {
		return varve.Value{}, nil
	}
	v, err := varve.JSONValue(text)
	if err != nil {
		return v, varve.InvalidParam(param, "%s", err)
	}
	return v, nil
}

// rawJSON returns a value as JSON, or nil for the zero Value.
func rawJSON(v varve.Value) json.RawMessage {
	if v.IsZero() {
		return nil
	}
	return wire.AppendValue(nil, v)
}

// momentIn parses a time of a list's query. For empty text, it returns def.
func momentIn(name, text string, now, def time.Time) (time.Time, error) {
	return moment(url.Values{name: {text}}, name, wire.TimeFormat{}, now, def)
}
