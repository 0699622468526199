package backup

import (
	"context"
	"fmt"

	"github.com/varvedb/varve/objectstore"
)

// Problem describes a file of a backup. The file cannot be read, or its size or checksum differs from the
// manifest.
type Problem struct {
	File    *File
	Backups []string // names of the backups that need the file
	Err     error
}

// Verify reads all files of some backups, each once, and returns the problems. It fails only if ctx ends.
func (p *Place) Verify(ctx context.Context, list []*Manifest) (problems []Problem, err error) {
	files, needs := map[string]*File{}, map[string][]string{}
	c := counter{report: p.Progress}
	for _, m := range list {
		for i := range m.Files {
			f := &m.Files[i]
			if files[f.SHA256] == nil {
				c.total += f.Size
				files[f.SHA256] = f
			}
			needs[f.SHA256] = append(needs[f.SHA256], m.Name())
		}
	}
	for sum, f := range files {
		_, err := p.read(ctx, f)
		c.add(f.Size)
		if gone := context.Cause(ctx); gone != nil {
			return problems, gone
		}
		if err != nil {
			problems = append(problems, Problem{File: f, Backups: needs[sum], Err: err})
		}
	}
	return problems, nil
}

// read returns a file of the place, and checks its content.
func (p *Place) read(ctx context.Context, f *File) ([]byte, error) {
	body, err := p.objects.Get(ctx, p.prefix+f.key(), 0, -1)
	if err != nil {
		return nil, err
	}
	return body, f.compare(body)
}

// compare returns an error if the stored bytes of a file differ from the written ones.
func (f *File) compare(body []byte) error {
	if n := int64(len(body)); n != f.Size {
		return fmt.Errorf("it has %d bytes, and %d were written", n, f.Size)
	}
	if sum := objectstore.SumOf(body); sum != f.SHA256 {
		return fmt.Errorf("its content has changed: the SHA-256 is %s, not %s", sum, f.SHA256)
	}
	return nil
}
