package wire

import (
	"bytes"
	"encoding/json"
)

// MarshalJSON returns v as JSON without escaping <, > and &. So addresses in messages stay
// readable. Answers are never embedded in an HTML page.
func MarshalJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}
