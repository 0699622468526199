package devicename_test

import (
	"slices"
	"testing"

	"github.com/varvedb/varve/devicename"
)

// TestSplit_InvertsJoin checks that labels are restored from the name of a device.
func TestSplit_InvertsJoin(t *testing.T) {
	rows := []struct {
		device string
		labels []devicename.Label
	}{
		{"d1", nil}, {"d;1", nil}, {"50%", nil}, {"a=b", nil}, {"50%25", []devicename.Label{{"k", "%25"}}},
		{"a;b=", []devicename.Label{{"%3B", "="}, {"x y", ";%"}}}, {"d", []devicename.Label{{"k", "v"}}},
	}
	for _, row := range rows {
		device, labels := devicename.Split(devicename.Join(row.device, row.labels))
		if device != row.device || !slices.Equal(labels, row.labels) {
			t.Errorf("%q with %q became %q with %q", row.device, row.labels, device, labels)
		}
	}
}

// TestSplit_LeavesOtherNames checks that Split returns no labels for names that Join cannot have made.
func TestSplit_LeavesOtherNames(t *testing.T) {
	for _, name := range []string{"", ";", ";k=v", "a;", "a;b", "a;=v", "a;k=", "a;k=v;", "a;k=v=w", "a;k=50%", "50%;k=v", "a;z=1;b=2", "a;k=1;k=2", "a=b;k=v"} {
		if device, labels := devicename.Split(name); device != name || labels != nil {
			t.Errorf("%q became %q with %q", name, device, labels)
		}
	}
}
