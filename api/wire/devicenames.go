package wire

import (
	"cmp"
	"strings"

	"github.com/varvedb/varve"
)

// deviceNames has one copy of each device name, and numbers the devices of a batch. All readings
// with the same device number are a group.
type deviceNames struct {
	known  map[string]*deviceName
	last   *deviceName // device of the previous reading
	batch  uint64      // number of the batch; a device number with the number of another batch is invalid
	groups int32       // number of devices of the batch
	next   []int32     // buffer for the result of starts
	most   int         // maximum number of known names; 0 means maxNames
}

// deviceName is a name, and its number in one batch.
type deviceName struct {
	name  string
	batch uint64
	group int32
}

// begin begins the next batch, with a maximum number of known names. Device number 0 is for readings that do not name a device themselves.
func (d *deviceNames) begin(most int) {
	d.batch++
	d.most = most
	d.groups, d.last = 0, nil
}

// get returns a device with its number in the batch.
func (d *deviceNames) get(name []byte) *deviceName {
	if d.last != nil && d.last.name == string(name) {
		return d.last
	}
	n, ok := d.known[string(name)]
	if !ok {
		n = d.add(strings.Clone(string(name)))
	}
	return d.number(n)
}

// getText is like get. It needs no copy of the name, because its argument is a string.
func (d *deviceNames) getText(name string) *deviceName {
	if d.last != nil && d.last.name == name {
		return d.last
	}
	n, ok := d.known[name]
	if !ok {
		n = d.add(name)
	}
	return d.number(n)
}

// add adds a name. A name that is too long is invalid, and is not stored in known.
func (d *deviceNames) add(name string) *deviceName {
	n := &deviceName{name: name}
	if len(name) <= varve.MaxDeviceBytes {
		if d.known == nil || len(d.known) >= cmp.Or(d.most, maxNames) {
			d.known = make(map[string]*deviceName)
		}
		d.known[name] = n
	}
	return n
}

// number gives a device a number in the batch, if it has none.
func (d *deviceNames) number(n *deviceName) *deviceName {
	if n.batch != d.batch || n.group == 0 {
		d.groups++
		n.batch, n.group = d.batch, d.groups
	}
	d.last = n
	return n
}

// starts returns, for each group, the index that its first reading has when all readings are ordered by
// group. The argument "groups" has the group of each reading.
func (d *deviceNames) starts(groups []int32) []int32 {
	d.next = append(d.next[:0], make([]int32, d.groups+2)...)
	for _, g := range groups {
		d.next[g+1]++
	}
	for i := 1; i < len(d.next); i++ {
		d.next[i] += d.next[i-1]
	}
	return d.next
}
