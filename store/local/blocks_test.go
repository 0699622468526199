package local_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// readBoth reads a page with Read, and compares it twice with the pages of ReadBlocks, because columns in
// memory are cached at their second read. If the pages differ, it repeats all reads, because background
// work may find and repair damage between two reads.
func readBoth(ctx context.Context, s *local.Store, r store.Range, dst []varve.Reading) (page store.Page, err error) {
	why := ""
	for range 3 {
		page, err = s.Read(ctx, r, dst)
		why = differentBlocks(ctx, s, r, page.Readings, err)
		if why == "" {
			why = differentBlocks(ctx, s, r, page.Readings, err)
		}
		if why == "" {
			return page, err
		}
	}
	return page, fmt.Errorf("ReadBlocks differs from Read: %s", why)
}

// differentBlocks describes how the pages of ReadBlocks differ from a page of Read, or returns "".
func differentBlocks(ctx context.Context, s *local.Store, r store.Range, want []varve.Reading, wantErr error) string {
	var got []varve.Reading
	limit := r.Limit
	for {
		if limit > 0 {
			r.Limit = limit - len(got)
		}
		page, err := s.ReadBlocks(ctx, r, nil)
		for i := range page.Parts {
			p := &page.Parts[i]
			for k := range p.Len() {
				got = append(got, varve.Reading{})
				p.Fill(p.Row(k), &got[len(got)-1])
			}
		}
		if page.Release != nil {
			page.Release()
		}
		got = append(got, page.Readings...)
		if err != nil || wantErr != nil && (!page.More || limit > 0 && len(got) >= limit) {
			if errors.Is(err, store.ErrDamaged) != errors.Is(wantErr, store.ErrDamaged) {
				return fmt.Sprintf("error %v, want %v", err, wantErr)
			}
			return ""
		}
		if wantErr == nil && (len(got) >= len(want) || !page.More) {
			break
		}
		last := got[len(got)-1].Position()
		r.After = &last
	}
	if len(got) < len(want) || r.Limit > 0 && len(got) != len(want) {
		return fmt.Sprintf("%d readings, want %d", len(got), len(want))
	}
	for i := range want {
		if !got[i].Equal(&want[i]) || fmt.Sprint(got[i].Fields) != fmt.Sprint(want[i].Fields) {
			return fmt.Sprintf("reading %d: %v %v, want %v %v", i, &got[i], got[i].Fields, &want[i], want[i].Fields)
		}
	}
	return ""
}
