package wire

import (
	"bytes"
	"encoding/json"
)

// MarshalJSON returns v as JSON without escaping <, > and &. Messages quote addresses,
// and answers are never parts of a page.
func MarshalJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}
