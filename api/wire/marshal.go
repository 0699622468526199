package wire

import (
	"bytes"
	"encoding/json"
)

// MarshalJSON returns v as JSON in which <, > and & stand as they are: messages
// quote addresses, and no answer is put into a page.
func MarshalJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}
