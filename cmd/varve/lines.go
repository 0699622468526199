package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// writeLines writes the entries of a list as NDJSON. The list must be the first member of value.
func writeLines(w io.Writer, value any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	in := json.NewDecoder(&text)
	for _, want := range []string{"{", "", "["} { // the beginning of the object, the name of the list, and the beginning of the list
		token, err := in.Token()
		if err != nil || want != "" && fmt.Sprint(token) != want {
			return fmt.Errorf("write %T as lines: the value has no list: %w", value, err)
		}
	}
	for in.More() {
		var entry json.RawMessage
		if err := in.Decode(&entry); err != nil {
			return err
		}
		if _, err := w.Write(append(entry, '\n')); err != nil {
			return err
		}
	}
	return nil
}
