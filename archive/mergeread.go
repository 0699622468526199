package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/objectstore"
)

// archiveStream reads an archive row group by row group, so that it needs little memory.
type archiveStream struct {
	files    *files
	manifest *Manifest
	dir      string

	file, group int // indexes of the file and of the row group that are read next
	footer      []byte
	blocks      []*block.Block // decoded blocks that were not returned yet
}

// series returns the series of the next readings, or false at the end.
func (s *archiveStream) series(ctx context.Context) (varve.Series, bool, error) {
	for len(s.blocks) == 0 {
		if s.file == len(s.manifest.Files) {
			return varve.Series{}, false, nil
		}
		f := &s.manifest.Files[s.file]
		if s.group == len(f.Groups) {
			s.file, s.group, s.footer = s.file+1, 0, nil
			continue
		}
		if err := s.decode(ctx, f); err != nil {
			return varve.Series{}, false, err
		}
		s.group++
	}
	return s.blocks[0].Series, true, nil
}

func (s *archiveStream) decode(ctx context.Context, f *FileEntry) (err error) {
	key := s.dir + f.Name
	if s.footer == nil {
		if s.footer, err = s.files.readRange(ctx, key, &f.Footer); err != nil {
			return err
		}
	}
	g := &f.Groups[s.group]
	body, err := s.files.readRange(ctx, key, &g.RangeEntry)
	if err != nil {
		return err
	}
	known := &parquetfile.Ranges{Length: f.Size}
	known.Add(f.Footer.Offset, s.footer)
	known.Add(g.Offset, body)
	rd, err := parquetfile.OpenRanges(known)
	if err == nil {
		s.blocks, err = rd.ReadGroup(s.group, true)
	}
	if err != nil {
		return contentError{fmt.Errorf("%s: %w", key, err)}
	}
	return nil
}

// readRange reads a range of an object, and compares it with its checksum.
func (o *files) readRange(ctx context.Context, key string, at *RangeEntry) ([]byte, error) {
	body, err := o.objects.Get(ctx, key, at.Offset, at.Size)
	switch {
	case errors.Is(err, objectstore.ErrMissing):
		return nil, contentError{fmt.Errorf("%s: %w", key, err)}
	case err != nil:
		return nil, o.checkRange(ctx, key, at, err)
	case objectstore.SumOf(body) != at.SHA256:
		return nil, contentError{changedError(key, at)}
	}
	return body, nil
}

// eachMerged passes the readings of archives with disjoint windows to the function "each", by
// series and time. The archives are in the order of their windows.
func eachMerged(ctx context.Context, streams []archiveStream, each func(*block.Block) error) error {
	for {
		var next varve.Series
		found := false
		for i := range streams {
			s, ok, err := streams[i].series(ctx)
			if err != nil {
				return err
			}
			if ok && (!found || s.Compare(next) < 0) {
				next, found = s, true
			}
		}
		if !found {
			return nil
		}
		for i := range streams {
			if err := streams[i].passSeries(ctx, next, each); err != nil {
				return err
			}
		}
	}
}

// passSeries passes the readings of a series to the function "each", if they are next in the archive.
func (s *archiveStream) passSeries(ctx context.Context, of varve.Series, each func(*block.Block) error) error {
	for {
		next, ok, err := s.series(ctx)
		if err != nil || !ok || next != of {
			return err
		}
		b := s.blocks[0]
		s.blocks = s.blocks[1:]
		if err := each(b); err != nil {
			return err
		}
	}
}
