package upload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/fileerr"
)

// Rejection is one rejected reading of a file.
type Rejection struct {
	File    string          `json:"file"`
	Index   int64           `json:"index"`          // index of the reading in the file, from 0
	Line    int64           `json:"line,omitempty"` // line in the file, from 1; 0 in JSON
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Reading string          `json:"reading,omitempty"` // text of the reading in the file
	Stored  json.RawMessage `json:"stored,omitempty"`  // the stored fields of a conflict
}

// rejectionOf returns a rejection in an answer of the server, with the place of the reading in the
// file.
func rejectionOf(path string, p *wire.Piece, r *wire.Reject) Rejection {
	rej := Rejection{File: path, Code: r.Code, Message: r.Message, Stored: r.Stored}
	if i := int(r.Index); i < p.Len() {
		rej.Index, rej.Line = p.Where(i)
		rej.Reading = string(p.Text(i))
	}
	return rej
}

// RejectFile stores rejections, one JSON object a line. A nil *RejectFile stores
// nothing.
type RejectFile struct {
	file   *os.File
	failed error // error of the first failed write
}

// CreateRejectFile creates the file. If resumed is set, it appends to the rejections of earlier runs.
// Otherwise, an existing file is truncated. It fails if the path names one of the sources, or if the file
// has data other than rejections. CreateRejectFile returns nil for an empty path.
func CreateRejectFile(path string, resumed bool, sources []Source) (*RejectFile, error) {
	if path == "" {
		return nil, nil
	}
	if err := checkRejectFile(path, sources); err != nil {
		return nil, err
	}
	mode := os.O_TRUNC
	if resumed {
		mode = os.O_APPEND
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o666)
	if err != nil {
		return nil, fileerr.Short(err)
	}
	return &RejectFile{file: f}, nil
}

// longestRejection is the length up to which the first line of a file is read, in bytes.
const longestRejection = 16 << 20

// checkRejectFile fails if a file has data that a RejectFile would replace.
func checkRejectFile(path string, sources []Source) (err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // creating the file fails if that is an error
	}
	for i := range sources {
		source, err := os.Stat(sources[i].Path)
		if err == nil && sources[i].stdin == nil && os.SameFile(info, source) {
			return varve.InvalidParam("rejects", "%s is also read: name another file", path)
		}
	}
	if info.Size() == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fileerr.Short(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var first struct{ File, Code, Message *string }
	if err := json.NewDecoder(io.LimitReader(f, longestRejection)).Decode(&first); err != nil || first.File == nil || first.Code == nil || first.Message == nil {
		return varve.InvalidParam("rejects", "%s has other data: name a new file", path)
	}
	return nil
}

// Write adds a rejection. Close returns the first failure.
func (f *RejectFile) Write(r *Rejection) {
	if f == nil {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = f.file.Write(append(line, '\n'))
	}
	if err != nil && f.failed == nil {
		f.failed = fmt.Errorf("not all rejections are in %w", fileerr.Short(err))
	}
}

// Close closes the file. It fails if a rejection could not be written.
func (f *RejectFile) Close() error {
	if f == nil {
		return nil
	}
	return errors.Join(f.failed, fileerr.Short(f.file.Close()))
}
