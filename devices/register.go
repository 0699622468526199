package devices

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// A device is registered before its first reading is acknowledged: deadman rules check registered
// devices only, and a device may send just one reading. For the same reason, if a rule names a
// stream, the device's record in this stream is created before its first reading in the stream is
// acknowledged. Later times are written in the background.

// Touch records that readings of one tenant arrived. The filter selects the series
// whose last-seen times are recorded by stream.
//
// When Touch returns, the records of first readings are durable, or these readings are rejected as
// unavailable. Later times are written in the background. Touch fails only if the context has ended.
func (r *Registry) Touch(ctx context.Context, now time.Time, tenant string, filter StreamFilter, readings []varve.Reading, verdicts []varve.Verdict) error {
	fresh := r.lastSeen.untouched(now, tenant, filter, readings, verdicts)
	if len(fresh) == 0 {
		return nil
	}
	records, first := r.lastSeen.unique(fresh)
	failed := r.registerAll(ctx, now, first, records)
	if failed != nil {
		for _, id := range first {
			delete(records, id)
		}
	}
	r.lastSeen.touch(now, records)
	if failed == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rejectFirst(first, failed, readings, verdicts)
	return nil
}

// registerAll writes the items that first readings create, unless they exist, in one batch.
func (r *Registry) registerAll(ctx context.Context, now time.Time, first []recordID, records map[recordID]written) error {
	if len(first) == 0 {
		return nil
	}
	items := make([]store.Item, len(first))
	for i := range first {
		items[i] = first[i].firstItem(now)
	}
	done, err := r.opts.Items.PutAbsent(ctx, items)
	if err != nil {
		return err
	}
	for i, id := range first {
		records[id] = written(done[i])
	}
	return nil
}

// rejectFirst rejects readings as unavailable if the record of their device, or of their device in
// their stream, could not be written.
func rejectFirst(first []recordID, err error, readings []varve.Reading, verdicts []varve.Verdict) {
	failed := make(map[recordID]struct{}, len(first))
	for _, id := range first {
		failed[id] = struct{}{}
	}
	for i := range readings {
		if verdicts[i].Outcome == varve.Rejected {
			continue
		}
		id := recordID{deviceID: deviceID{readings[i].Tenant, readings[i].Device}}
		_, device := failed[id]
		id.stream = readings[i].Stream
		if _, series := failed[id]; device || series {
			verdicts[i] = varve.Reject(varve.CodeUnavailable, "the reading is stored, and its device could not be registered: resend it (%s)", err)
		}
	}
}
