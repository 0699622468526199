package wire

import (
	"github.com/varvedb/varve"
)

// The trailers of an answer with changes. Answers in JSON have no trailers.
const (
	HeaderNext    = "Varve-Next"    // the change cursor
	HeaderMore    = "Varve-More"    // true if further changes exist now
	HeaderSettled = "Varve-Settled" // the time before which all arrivals are settled
)

// ChangesBody is a page of changes.
type ChangesBody struct {
	Readings []ChangeBody `json:"readings"`
	Next     string       `json:"next" doc:"the cursor after these changes, for since; it does not expire before readings do"`
	More     bool         `json:"more" doc:"further changes exist now"`
	Settled  string       `json:"settled" format:"date-time" doc:"if more is false, every reading that arrived before this time was returned"`
}

// ChangeBody is a reading of a page of changes.
type ChangeBody struct {
	Device string `json:"device"`
	ReadingBody
}

// AppendChange appends a reading with its device as a JSON object.
func (w *Writer) AppendChange(dst []byte, r *varve.Reading) []byte {
	dst = AppendString(append(dst, `{"device":`...), r.Device)
	at := len(dst)
	dst = w.AppendReading(dst, r)
	dst[at] = ','
	return dst
}

// AppendChangesHeader appends the header of CSV rows with devices.
func (w *RowWriter) AppendChangesHeader(dst []byte) []byte {
	return w.AppendHeader(append(dst, "device,"...))
}

// AppendChangeRow appends a reading with its device as a row. The result "missing" is as in AppendRow.
func (w *RowWriter) AppendChangeRow(dst []byte, r *varve.Reading) (_ []byte, missing string) {
	return w.AppendRow(append(AppendCell(dst, r.Device), ','), r)
}
