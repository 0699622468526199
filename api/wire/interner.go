package wire

import (
	"cmp"
	"strings"

	"github.com/varvedb/varve"
)

// maxNames is the maximum number of names of an interner or of deviceNames, if a batch may have BatchReadings. If
// it is reached, all names are forgotten.
const maxNames = 16 << 10

// interner has one copy of each repeated name, so that readings share the memory of names.
type interner struct {
	names map[string]string
	most  int // maximum number of names; 0 means maxNames
}

func (in *interner) get(b []byte) string {
	if len(b) > varve.MaxDeviceBytes {
		return string(b) // too long for a valid name, so it is not added to names
	}
	if s, ok := in.names[string(b)]; ok {
		return s
	}
	if in.names == nil || len(in.names) >= cmp.Or(in.most, maxNames) {
		in.names = make(map[string]string)
	}
	s := strings.Clone(string(b))
	in.names[s] = s
	return s
}
