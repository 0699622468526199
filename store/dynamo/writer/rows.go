package writer

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/row"
)

const (
	// closedBytes is the size at which a row is closed. An update of a larger row would cost more than
	// one unit.
	closedBytes = client.UnitBytes
	// insertBytes is the size after which an insert adds no further reading. One large insert costs no
	// more than several small ones. The last reading may exceed the limit by 64 KiB. The row is then
	// still smaller than the 400 KB that DynamoDB allows.
	insertBytes = 64 << 10
	// maxAssignments limits the expression of an update to 4 KB. A single reading of 256 fields
	// may have more assignments, and still fits.
	maxAssignments = 200
	// blindFields and blindKeys limit the condition of a blind update to 4 KB and 300
	// operators.
	blindFields = 60
	blindKeys   = 40
)

// writeRow writes as many entries as possible to one row, and sets their verdicts. It returns the
// entries that belong below the row, because the row is closed. It also returns whether it sent a
// request.
func (w *Writer) writeRow(ctx context.Context, g *group, at row.Address, entries []row.Entry) (rest []row.Entry, sent bool, err error) {
	if known := w.closed.get(at); known != nil && known.canJudge(entries) {
		return known.removeStored(entries), false, nil
	}
	res, n, err := w.tryRow(ctx, g, at, entries)
	for {
		if err != nil {
			return nil, true, err
		}
		if res.stored {
			setOutcome(entries[:n], varve.Stored)
			entries = entries[n:]
		}
		if res.row != nil {
			if entries, err = g.removeStored(entries, res.row); err != nil {
				return nil, true, row.Damaged(g.Table, at.Key(), err)
			}
		}
		if len(entries) == 0 || res.row != nil && res.row.Bytes >= closedBytes {
			return entries, true, nil
		}
		if res.row == nil { // the row is missing or was deleted meanwhile
			n = row.FillCount(entries, insertBytes)
			res, err = w.insert(ctx, g, at, entries[:n])
			continue
		}
		// One update adds as many entries as fit into a request, because overflow rows would cost
		// as many units and more requests. The update closes the row or adds all entries.
		n = min(row.FillCount(entries, insertBytes), assignable(entries))
		res, err = w.updateSeen(ctx, g, at, res.row, entries[:n])
	}
}

// tryRow sends the first request for a row, which is a blind update or an insert. It returns the
// number of entries in the request.
func (w *Writer) tryRow(ctx context.Context, g *group, at row.Address, entries []row.Entry) (res result, n int, err error) {
	n = len(entries)
	if g.existing && fitsBlind(entries) {
		res, err = w.updateBlind(ctx, g, at, entries)
		if err == nil && (res.stored || res.row == nil) {
			w.expected.learn(g.Series, res.stored)
		}
		return res, n, err
	}
	n = row.FillCount(entries, insertBytes)
	res, err = w.insert(ctx, g, at, entries[:n])
	switch {
	case err != nil:
	case res.stored:
		w.expected.learn(g.Series, false)
	case res.row != nil && res.row.Bytes < closedBytes && !res.row.HasKeys(entries):
		w.expected.learn(g.Series, true)
	}
	return res, n, err
}

// fitsBlind reports whether a single blind update can add all entries.
func fitsBlind(entries []row.Entry) bool {
	fields := map[string]bool{}
	for i := range entries {
		for _, f := range entries[i].Reading.Fields {
			fields[f.Name] = true
		}
	}
	return len(entries) <= blindKeys && len(fields) <= blindFields &&
		assignable(entries) == len(entries) && row.FillCount(entries, closedBytes) == len(entries)
}

// assignable returns how many entries one update can add. It returns at least 1.
func assignable(entries []row.Entry) int {
	assignments := 0
	for i := range entries {
		assignments += len(entries[i].Reading.Fields) + 2
		if assignments > maxAssignments && i > 0 {
			return i
		}
	}
	return len(entries)
}

func setOutcome(entries []row.Entry, o varve.Outcome) {
	for i := range entries {
		*entries[i].Verdict = varve.Verdict{Outcome: o}
	}
}
