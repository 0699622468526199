package wire

// Note is a remark on a successful answer, such as a remark on a name that does not exist.
type Note struct {
	Param   string `json:"param" doc:"the parameter, as in query.fields"`
	Message string `json:"message"`
}

// AppendNotes appends a comma and the property "notes" of a JSON object. Without notes, it appends
// nothing.
func AppendNotes(dst []byte, notes []Note) []byte {
	if len(notes) == 0 {
		return dst
	}
	// Notes can always be marshaled.
	text, _ := MarshalJSON(notes)
	return append(append(dst, `,"notes":`...), text...)
}
