package wire_test

import (
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// TestFieldName_InvertsColumnName checks that each field has a column of its own, from which its name can
// be read.
func TestFieldName_InvertsColumnName(t *testing.T) {
	columns := map[string]string{}
	for _, field := range []string{"x", "fields.x", "fields.fields.x", "time", "fields.time", "id", "arrived", "Device", "fields.device", "fields.", "fields"} {
		column := wire.ColumnName(field)
		if got := wire.FieldName(column); got != field {
			t.Errorf("the column %q of the field %q has the name %q", column, field, got)
		}
		if other, taken := columns[column]; taken {
			t.Errorf("the fields %q and %q have the column %q", field, other, column)
		}
		columns[column] = field
	}
}
