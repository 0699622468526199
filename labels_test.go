package varve_test

import (
	"slices"
	"testing"

	"github.com/varvedb/varve"
)

// TestSplitLabels_InvertsJoinLabels checks that labels are restored from the name of a device.
func TestSplitLabels_InvertsJoinLabels(t *testing.T) {
	rows := []struct {
		device string
		labels []varve.Label
	}{
		{"d1", nil}, {"d;1", nil}, {"50%", nil}, {"a=b", nil}, {"50%25", []varve.Label{{"k", "%25"}}},
		{"a;b=", []varve.Label{{"%3B", "="}, {"x y", ";%"}}}, {"d", []varve.Label{{"k", "v"}}},
	}
	for _, row := range rows {
		device, labels := varve.SplitLabels(varve.JoinLabels(row.device, row.labels))
		if device != row.device || !slices.Equal(labels, row.labels) {
			t.Errorf("%q with %q became %q with %q", row.device, row.labels, device, labels)
		}
	}
}

// TestSplitLabels_KeepsOtherNames checks that names of another form have no labels.
func TestSplitLabels_KeepsOtherNames(t *testing.T) {
	for _, name := range []string{"", ";", "a;", "a;b", "a;=v", "a;k=", "a;k=v;", "a;k=v=w", "a;k=50%", "50%;k=v", "a;z=1;b=2", "a;k=1;k=2", "a=b;k=v"} {
		if device, labels := varve.SplitLabels(name); device != name || labels != nil {
			t.Errorf("%q became %q with %q", name, device, labels)
		}
	}
}
