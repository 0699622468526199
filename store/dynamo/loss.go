package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// AcceptLoss records that the readings of a table that somebody deleted are
// known to be lost: it is missing in no coverage from then on. It does nothing
// if the table has lost none.
func (s *Store) AcceptLoss(ctx context.Context, t grid.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	defer s.list.forget()
	s.forgetTable(t)
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return err
		}
		r, err := s.recordOf(ctx, t)
		if err != nil || r == nil {
			return err
		}
		_, err = s.describe(ctx, t.Name())
		if err != nil && !isNoTable(err) {
			return err
		}
		same := store.IfEquals("version", varve.IntValue(r.Version))
		switch {
		case err != nil && (r.Phase == usable || !r.Lost.IsZero()):
			err = s.delete(ctx, recordKey(t), same)
		case err == nil && !r.Lost.IsZero():
			r.Lost, r.Version = time.Time{}, r.Version+1
			err = s.put(ctx, r.item(t), same)
		default:
			return nil
		}
		if !errors.Is(err, store.ErrCondition) {
			return errors.Join(err, s.changeVersion(ctx))
		}
	}
}

// lossMany bounds how many tables a finding names.
const lossMany = 10

const aboutLoss = "deleted tables"

// lostTables checks that no table is gone whose readings had not expired.
func (e *examiner) lostTables(ctx context.Context) {
	all, err := e.load(ctx, &selection{prefixes: slices.Sorted(slices.Values(e.prefixes)), any: true})
	if err != nil {
		e.notChecked(aboutLoss, "tables cannot be listed: %s", brief(err))
		return
	}
	var lost []string
	for i := range all {
		if in := &all[i].Info; !in.Lost.IsZero() && (e.expired == nil || !e.expired(in.Table)) {
			lost = append(lost, in.Name())
		}
	}
	if len(lost) == 0 {
		e.good(aboutLoss, "none")
		return
	}
	more := ""
	if len(lost) > lossMany {
		lost, more = lost[:lossMany], fmt.Sprintf(" and %d more", len(lost)-lossMany)
	}
	e.wrong(aboutLoss, "restore them from a backup under their names; or accept the loss with varve repair --accept-loss --apply",
		"deleted, with readings that had not expired: %s%s", strings.Join(lost, ", "), more)
}
