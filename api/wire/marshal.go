package wire

import (
	"bytes"
	"encoding/json"
)

// MarshalJSON returns v as JSON that does not escape <, > and &.
//
// Messages quote addresses, and answers are never part of an HTML page.
func MarshalJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}
