package wire

// Note is a remark on a successful answer: a parameter names something that does not exist.
type Note struct {
	Param   string `json:"param" doc:"the parameter, as in query.fields"`
	Message string `json:"message"`
}

// AppendNotes appends the member notes and a comma before it, or nothing without notes.
func AppendNotes(dst []byte, notes []Note) []byte {
	if len(notes) == 0 {
		return dst
	}
	// A Note has nothing in it that cannot be marshalled.
	text, _ := MarshalJSON(notes)
	return append(append(dst, `,"notes":`...), text...)
}
