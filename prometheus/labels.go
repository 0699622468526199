package prometheus

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
)

// Labels of every series. The name is the field.
const (
	nameLabel   = "__name__"
	streamLabel = "stream"
	deviceLabel = "device"
)

// ownLabels are the labels that Varve sets. An attribute of the same name gets attributePrefix.
var ownLabels = []string{streamLabel, deviceLabel, "name", "type", "status", "location", "firmware", "tenant"}

const attributePrefix = "attribute_"

// deviceLabels returns the labels that describe a device: its name and its registered attributes.
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
	return append(list, attributeLabels(d.Attributes)...)
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
			list = append(list, labels.Label{Name: uniqueLabel(labelName(name), list), Value: text})
		}
	}
	return list
}

// labelName converts the name of an attribute to a label name that Prometheus' classic rules allow.
func labelName(attribute string) string {
	var b strings.Builder
	for i, r := range attribute {
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
		return attributePrefix + name
	}
	return name
}

// uniqueLabel adds a number to a label name that is in the list already, beginning with _2.
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

// value returns the value of a label, or "".
func (t *target) value(name string) string {
	for i := range t.labels {
		if t.labels[i].Name == name {
			return t.labels[i].Value
		}
	}
	return ""
}

// metric returns the labels of the series of a field.
func (t *target) metric(field string) labels.Labels {
	b := labels.NewScratchBuilder(len(t.labels) + 1)
	b.Add(nameLabel, field)
	for i := range t.labels {
		b.Add(t.labels[i].Name, t.labels[i].Value)
	}
	b.Sort()
	return b.Labels()
}
