package prometheus

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devicename"
	"github.com/varvedb/varve/devices"
)

// Labels of every series. The name is the field.
const (
	nameLabel   = "__name__"
	streamLabel = "stream"
	deviceLabel = "device"
	baseLabel   = "device_base" // name of the device without tags; only devices with tags have it
)

// ownLabels are the labels that Varve sets. An attribute of the same name gets attributePrefix, and a
// tag of line protocol gets tagPrefix.
var ownLabels = []string{streamLabel, deviceLabel, baseLabel, "name", "type", "status", "location", "firmware", "tenant"}

const (
	attributePrefix = "attribute_"
	tagPrefix       = "tag_"
)

// deviceLabels returns the labels that describe a device: its name, its registered attributes, and the
// tags of line protocol in its name.
func deviceLabels(d *devices.Device) []labels.Label {
	list := []labels.Label{{Name: deviceLabel, Value: d.Device}}
	for _, l := range []labels.Label{
		{Name: "name", Value: d.Name}, {Name: "type", Value: d.Type}, {Name: "status", Value: string(d.Status)},
		{Name: "location", Value: d.Location}, {Name: "firmware", Value: d.Firmware},
	} {
		if l.Value != "" {
			list = append(list, l)
		}
	}
	list = append(list, attributeLabels(d.Attributes)...)
	return appendTags(list, d.Device)
}

// appendTags appends the tags of line protocol in the name of a device, and the name without them. A
// label in the list is never replaced: a tag of the same name gets tagPrefix.
func appendTags(list []labels.Label, device string) []labels.Label {
	base, tags := devicename.Split(device)
	if len(tags) == 0 {
		return list
	}
	list = append(list, labels.Label{Name: baseLabel, Value: base})
	others := len(list)
	for _, tag := range tags {
		name := labelName(tag.Key, tagPrefix)
		if slices.ContainsFunc(list[:others], func(l labels.Label) bool { return l.Name == name }) {
			name = tagPrefix + name
		}
		list = append(list, labels.Label{Name: uniqueLabel(name, list), Value: tag.Value})
	}
	return list
}

// attributeLabels returns the properties of an object as labels. It omits objects, lists and null.
func attributeLabels(object varve.Value) (list []labels.Label) {
	var members map[string]json.RawMessage
	if object.IsZero() || json.Unmarshal([]byte(object.Text()), &members) != nil {
		return nil // only objects have properties
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if text := devices.ScalarText(members[name]); text != "" {
			list = append(list, labels.Label{Name: uniqueLabel(labelName(name, attributePrefix), list), Value: text})
		}
	}
	return list
}

// labelName converts the name of an attribute or tag to a label name that Prometheus' classic rules
// allow. A name that Varve or Prometheus sets gets the prefix.
func labelName(text, prefix string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' && i > 0:
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	name := b.String()
	if name == "" || strings.HasPrefix(name, "__") || slices.Contains(ownLabels, name) {
		return prefix + name
	}
	return name
}

// uniqueLabel returns a label name that is not in the list. If the given name is in the list, it adds
// the first of the suffixes _2, _3 and so on that makes the name unique.
func uniqueLabel(name string, list []labels.Label) string {
	unique := name
	for n := 2; slices.ContainsFunc(list, func(l labels.Label) bool { return l.Name == unique }); n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	return unique
}

// target is one device in one stream. In PromQL, each field of the target is a series.
type target struct {
	series varve.Series
	labels []labels.Label // labels except __name__, sorted by name
}

func newTarget(tenant, stream string, device []labels.Label) target {
	t := target{series: varve.Series{Tenant: tenant, Stream: stream, Device: device[0].Value}}
	t.labels = append(slices.Clone(device), labels.Label{Name: streamLabel, Value: stream})
	slices.SortFunc(t.labels, func(a, b labels.Label) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

func (t *target) value(name string) string {
	for i := range t.labels {
		if t.labels[i].Name == name {
			return t.labels[i].Value
		}
	}
	return ""
}

func (t *target) metric(field string) labels.Labels {
	b := labels.NewScratchBuilder(len(t.labels) + 1)
	b.Add(nameLabel, field)
	for i := range t.labels {
		b.Add(t.labels[i].Name, t.labels[i].Value)
	}
	b.Sort()
	return b.Labels()
}
