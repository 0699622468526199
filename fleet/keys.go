package fleet

import (
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// shards is over how many partitions of an index the devices of one status lie,
// or the alerts of one severity.
const shards = 16

// devicePK is the partition of everything about a device.
func devicePK(tenant, device string) string { return "DEVICE#" + tenant + "/" + device }

// shardPK is the partition of an index in which a device's entries lie.
func shardPK(kind, tenant, word, device string) string {
	return numberedPK(kind, tenant, word, int(xxhash.Sum64String(device)%shards))
}

func numberedPK(kind, tenant, word string, shard int) string {
	return kind + "#" + tenant + "/" + word + "#" + string([]byte{'0' + byte(shard/10), '0' + byte(shard%10)})
}

// allShards returns the partitions of several words.
func allShards[W ~string](kind, tenant string, words ...W) (pks []string) {
	for _, w := range words {
		for shard := range shards {
			pks = append(pks, numberedPK(kind, tenant, string(w), shard))
		}
	}
	return pks
}

// keyTime is how times are written in keys and attributes: of one width, so
// that they sort, and begin with their hour, day and month.
const keyTime = "2006-01-02T15:04:05.000000000Z"

// timeText returns t in the layout keyTime.
func timeText(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.Format(keyTime)
	}
	hour, minute, sec := t.Clock()
	text := []byte("0000-00-00T00:00:00.000000000Z")
	for _, part := range [...]struct{ n, end int }{
		{year, 4}, {int(month), 7}, {day, 10}, {hour, 13}, {minute, 16}, {sec, 19}, {t.Nanosecond(), 29},
	} {
		for n, i := part.n, part.end-1; n > 0; n, i = n/10, i-1 {
			text[i] += byte(n % 10)
		}
	}
	return string(text)
}

func timeValue(t time.Time) varve.Value { return varve.StringValue(timeText(t)) }

// attrs reads an item's attributes; the first that cannot be read is the error.
type attrs struct {
	it  *store.Item
	err error
}

func (a *attrs) text(name string) string { return a.it.Attrs[name].Text() }

// time returns the zero time for an attribute that is not there.
func (a *attrs) time(name string) time.Time {
	text := a.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(keyTime, text)
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("item %s %s: %s: %w", a.it.PK, a.it.SK, name, err)
	}
	return t
}

// put sets an attribute that has a text.
func put(attrs map[string]varve.Value, name, text string) {
	if text != "" {
		attrs[name] = varve.StringValue(text)
	}
}

// putTime sets an attribute that has a time.
func putTime(attrs map[string]varve.Value, name string, t time.Time) {
	if !t.IsZero() {
		attrs[name] = timeValue(t)
	}
}

// intOf returns the whole number in a value; 0 if there is none.
func intOf(v varve.Value) int64 {
	n, exp, ok := v.Number().Canonical().Scaled()
	if !ok || exp < 0 {
		return 0
	}
	for ; exp > 0; exp-- {
		n *= 10
	}
	return n
}
