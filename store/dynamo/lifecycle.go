package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// Create implements store.Creator. The record is written first: a table that
// was made and has none would be taken for somebody else's.
func (s *Store) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	defer s.list.forget()
	s.forgetTable(t)
	defer s.closes.forget(t)
	r, err := s.recordOf(ctx, t)
	if err != nil {
		return err
	}
	_, err = s.describe(ctx, t.Name())
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, store.ErrNoTable):
		return err
	case there && r == nil:
		return fmt.Errorf("create %s: %w", t, store.ErrForeign)
	case there && r.Phase == usable:
		return nil
	case there && r.Phase == dropping:
		return &varve.Error{Failure: varve.Unavailable, Message: fmt.Sprintf("table %s is being dropped", t), RetryAfter: time.Second}
	case r == nil || !there && r.Phase != making:
		if err := s.begin(ctx, t, tier, r); err != nil {
			return err
		}
	}
	template, err := s.template(ctx)
	if err != nil {
		return err
	}
	settings := template.Of(s.opts.ClassOf(t.Prefix))
	desc, made, err := s.makeTable(ctx, s.tableInput(t, tier, &settings))
	if err != nil {
		return err
	}
	if !made { // by an earlier call of this deployment's, or by somebody else
		owned, err := s.owned(ctx, t, desc)
		if err != nil {
			return err
		}
		if !owned {
			return s.giveUp(ctx, t)
		}
	}
	if err := s.setTTL(ctx, t.Name(), attrTTL, true); err != nil {
		return err
	}
	if settings.recoverable() {
		if err := s.enableRecovery(ctx, t.Name()); err != nil {
			return err
		}
	}
	return s.ready(ctx, t)
}

// giveUp takes back that a table was about to be made which is somebody else's.
func (s *Store) giveUp(ctx context.Context, t grid.Table) error {
	err := s.delete(ctx, recordKey(t), store.IfEquals("phase", varve.StringValue(string(making))))
	if errors.Is(err, store.ErrCondition) {
		err = nil
	}
	return errors.Join(fmt.Errorf("create %s: %w", t, store.ErrForeign), err)
}

// begin writes the record of a table that is about to be made, in place of the
// one of a table that is gone, if any: that it was used stays, as others may not
// note it again, and so does its hold. Somebody else may do the same.
func (s *Store) begin(ctx context.Context, t grid.Table, tier store.Tier, old *record) error {
	r := &record{Phase: making, Tier: tier, Created: s.opts.Now().UTC()}
	cond := store.IfAbsent()
	if old != nil {
		r.Version, r.Used, r.Hold = old.Version+1, old.Used, old.Hold
		if r.Lost = old.Lost; r.Lost.IsZero() && old.Used && old.Phase == usable {
			r.Lost = r.Created
		}
		cond = store.IfEquals("version", varve.IntValue(old.Version))
	}
	err := s.put(ctx, r.item(t), cond)
	if errors.Is(err, store.ErrCondition) {
		return nil
	}
	return err
}

// ready notes that a table can be used, unless somebody else has.
func (s *Store) ready(ctx context.Context, t grid.Table) error {
	r, err := s.recordOf(ctx, t)
	if err != nil || r == nil || r.Phase != making {
		return err
	}
	version := r.Version
	r.Phase, r.Version = usable, version+1
	err = s.put(ctx, r.item(t), store.IfEquals("version", varve.IntValue(version)))
	if errors.Is(err, store.ErrCondition) {
		return nil
	}
	return err
}

// Retire implements store.Lifecycle.
func (s *Store) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	return s.change(ctx, t, func(r *record) error {
		if err := store.Retirable(&store.Info{Table: t, Hold: r.Hold}); err != nil {
			return err
		}
		r.Retired = at.UTC()
		return nil
	})
}

// Restore implements store.Lifecycle.
func (s *Store) Restore(ctx context.Context, t grid.Table) error {
	return s.change(ctx, t, func(r *record) error { r.Retired = time.Time{}; return nil })
}

// Hold implements store.Lifecycle. While a table is on hold, DynamoDB deletes no
// expired rows of it either.
func (s *Store) Hold(ctx context.Context, t grid.Table, reason string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.alter(ctx, t, func(r *record) error { r.Hold = reason; return nil }); err != nil {
		return err
	}
	if err := s.setTTL(ctx, t.Name(), attrTTL, reason == ""); err != nil {
		return fmt.Errorf("the hold of %s is noted, but not whether DynamoDB may delete its expired rows, which it changes once an hour at most: do it again later: %w", t, err)
	}
	return nil
}

// Drop implements store.Lifecycle. It goes on where an earlier call was cut off.
func (s *Store) Drop(ctx context.Context, t grid.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	defer s.list.forget()
	s.forgetTable(t)
	defer s.closes.forget(t)
	d, err := s.describe(ctx, t.Name())
	if err != nil {
		return err
	}
	owned, err := s.owned(ctx, t, d)
	if err != nil {
		return err
	}
	if r, err := s.recordOf(ctx, t); err != nil {
		return err
	} else if r == nil || r.Phase != dropping {
		if err := s.condemn(ctx, t, owned); err != nil {
			return err
		}
	}
	if err := s.unprotect(ctx, d); err != nil {
		return err
	}
	if _, err := s.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(t.Name())}); err != nil {
		err = s.fail("DeleteTable", t.Name(), err)
		now, derr := s.describe(ctx, t.Name())
		if derr == nil && now.TableStatus != types.TableStatusDeleting { // it may be: an answer may have been lost
			return errors.Join(err, s.spare(ctx, t, d))
		}
		if derr != nil && !isNoTable(derr) {
			return errors.Join(err, derr)
		}
	}
	return s.awaitGone(ctx, t)
}

// spareWithin bounds the time that sparing a table takes.
const spareWithin = time.Minute

// spare makes of a table that cannot be deleted what it was before: a retired
// one, and protected.
func (s *Store) spare(ctx context.Context, t grid.Table, d *types.TableDescription) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spareWithin)
	defer cancel()
	if aws.ToBool(d.DeletionProtectionEnabled) {
		in := &dynamodb.UpdateTableInput{TableName: d.TableName, DeletionProtectionEnabled: aws.Bool(true)}
		if err := s.updateTable(ctx, in); err != nil {
			return err
		}
	}
	r, err := s.recordOf(ctx, t)
	if err != nil || r == nil || r.Phase != dropping {
		return err
	}
	version := r.Version
	r.Phase, r.Version = usable, version+1
	return s.put(ctx, r.item(t), store.IfEquals("version", varve.IntValue(version)))
}

// awaitGone waits until a table that is being deleted is gone, and forgets it;
// unless somebody makes it anew meanwhile.
func (s *Store) awaitGone(ctx context.Context, t grid.Table) error {
	for try := 0; ; try++ {
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("waiting for table %s to be deleted: %w", t, err)
		}
		_, err := s.describe(ctx, t.Name())
		if isNoTable(err) {
			err = s.delete(ctx, recordKey(t), store.IfEquals("phase", varve.StringValue(string(dropping))))
			if errors.Is(err, store.ErrCondition) {
				err = nil
			}
			return err
		}
		if err != nil {
			return err
		}
		if r, err := s.recordOf(ctx, t); err != nil || r == nil || r.Phase != dropping {
			return err
		}
	}
}

// owned reports whether a table carries the owner's tag, where tables keep
// their tags.
func (s *Store) owned(ctx context.Context, t grid.Table, d *types.TableDescription) (bool, error) {
	if !s.tags {
		return true, nil
	}
	owner, _, err := s.ownerOf(ctx, t.Name(), aws.ToString(d.TableArn))
	return owner == s.opts.Owner, err
}

// condemn marks a table as one that is being dropped, if it may be. From then
// on nothing else can be done with it.
func (s *Store) condemn(ctx context.Context, t grid.Table, owned bool) error {
	return s.alter(ctx, t, func(r *record) error {
		in := store.Info{Table: t, Owned: owned, Hold: r.Hold, Retired: r.Retired}
		if err := store.Droppable(&in); err != nil {
			return err
		}
		r.Phase = dropping
		return nil
	})
}
