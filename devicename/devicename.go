// Package devicename joins the name of a device with labels, and separates them again.
//
//	sensor_01 + cpu=cpu0, site=north  ◀──▶  sensor_01;cpu=cpu0;site=north
//
// A [Label] is a tag of line protocol that does not name the device. [Join] returns the whole name,
// and [Split] its parts. The characters %, ; and = are escaped, so both functions are exact
// inverses.
//
// The caller of Join must sort the labels by key. Names without labels, and names that Join cannot
// have made, stay as they are. Neither function can fail, and both are pure.
package devicename

import (
	"slices"
	"strings"
)

// Label is a tag of a point of line protocol, except the tag with the device.
type Label struct{ Key, Value string }

// Join returns the name of a device with labels, as in "sensor_01;cpu=cpu0;site=north".
// Without labels, Join returns the name itself. The characters %, ; and = are escaped as in URLs.
//
// The labels must be sorted by key.
func Join(device string, labels []Label) string {
	if len(labels) == 0 {
		return device
	}
	var b strings.Builder
	b.WriteString(labelEscapes.Replace(device))
	for _, l := range labels {
		b.WriteString(";" + labelEscapes.Replace(l.Key) + "=" + labelEscapes.Replace(l.Value))
	}
	return b.String()
}

var (
	labelEscapes = strings.NewReplacer("%", "%25", ";", "%3B", "=", "%3D")
	labelPlain   = strings.NewReplacer("%25", "%", "%3B", ";", "%3D", "=")
)

// Split returns the name of a device without its labels, and the labels. If Join cannot have made the
// name, or if the name without its labels is empty, Split returns the name unchanged, and no labels.
func Split(name string) (device string, labels []Label) {
	base, rest, ok := strings.Cut(name, ";")
	if !ok {
		return name, nil
	}
	for part := range strings.SplitSeq(rest, ";") {
		key, value, _ := strings.Cut(part, "=")
		labels = append(labels, Label{labelPlain.Replace(key), labelPlain.Replace(value)})
	}
	device = labelPlain.Replace(base)
	if device == "" || slices.ContainsFunc(labels, func(l Label) bool { return l.Key == "" || l.Value == "" }) ||
		!ascendingKeys(labels) || Join(device, labels) != name {
		return name, nil
	}
	return device, labels
}

// ascendingKeys reports whether labels are sorted by key, and no key occurs twice.
func ascendingKeys(labels []Label) bool {
	for i := 1; i < len(labels); i++ {
		if labels[i-1].Key >= labels[i].Key {
			return false
		}
	}
	return true
}
