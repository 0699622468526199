package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// columnNames returns n names of columns, each after a comma.
func columnNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",c%d", i)
	}
	return b.String()
}

// TestCSV_BoundsReadingsOfLongForm checks that a reading of several rows needs little more memory than a
// valid reading, and that the next reading is unaffected.
func TestCSV_BoundsReadingsOfLongForm(t *testing.T) {
	const row, next = "d1,2026-04-20T14:00:00Z,", "d1,2026-04-20T15:00:00Z,t,1"
	rows := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%sm%d,%s\n", row, i, value)
		}
		return b.String()
	}
	for _, tt := range []struct {
		reason, columns, rows, tail string
		want                        varve.Code
		message                     string
	}{
		{"a long name", columnNames(5000), row + repeat("n", 200<<10) + ",1" + repeat(",1", 5000) + "\n", repeat(",", 5000),
			varve.CodeFieldInvalid, `field name "` + repeat("n", 40) + `"… has 204800 bytes, the limit is 128`},
		{"many columns", columnNames(5000), row + "t,1" + repeat(",1", 5000) + "\n", repeat(",", 5000),
			varve.CodeFieldInvalid, "the reading has more fields than the limit, 256"},
		{"a long column", "," + repeat("c", 200<<10), rows(200, "1,2"), ",",
			varve.CodeFieldInvalid, `field name "m0.` + repeat("c", 37) + `"… has 204803 bytes, the limit is 128`},
		{"long texts", "", rows(200, repeat("x", 60<<10)), "",
			varve.CodeTooLarge, "the reading has more bytes than the limit, 65536"},
	} {
		body := "device,time,metric,value" + tt.columns + "\n" + tt.rows + next + tt.tail + "\n"
		b := &wire.Batch{RecordTexts: true}
		r, err := wire.NewReader(new(wire.Memory), wire.CSV, strings.NewReader(body), defaults(), wire.Columns{Name: "metric", Value: "value"})
		if err != nil {
			t.Fatal(err)
		}
		var all []outcome
		size, text := 0, 0
		for err == nil {
			b.Reset()
			err = r.Read(b)
			for i := range b.Readings {
				size, text = max(size, b.Readings[i].Size()), max(text, len(b.Text(i)))
			}
			all = append(all, batchOutcomes(b)...)
		}
		if len(all) != 2 || all[0].verdict.Code != tt.want || all[0].verdict.Message != tt.message || fields(&all[1].reading) != "t=number(1)" {
			t.Errorf("%s: %.600s, %v, want %s: %s", tt.reason, fmt.Sprint(all[0].verdict, len(all)), err, tt.want, tt.message)
		}
		if size > 3*varve.MaxReadingBytes || text > 1<<20+100 {
			t.Errorf("%s: a reading of %d bytes with a text of %d bytes", tt.reason, size, text)
		}
	}
}

// TestCSV_RefusesManyDeviceColumns checks that a file may have 5,000 columns with the time, and not more.
func TestCSV_RefusesManyDeviceColumns(t *testing.T) {
	columns := wire.Columns{DeviceColumns: "t"}
	if all := readCSV(t, "time"+columnNames(4999)+"\n2026-04-20T14:00:00Z"+repeat(",1", 4999)+"\n", defaults(), columns); len(all) != 4999 {
		t.Errorf("%d readings, want 4999", len(all))
	}
	_, err := drain(new(wire.Memory), new(wire.Batch), wire.CSV, strings.NewReader("time"+columnNames(5000)+"\n"), defaults(), columns)
	if want := "the header has 5001 columns"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestShrink_ReleasesManyReadings checks that a batch releases the memory of its readings if it had many more
// than others have.
func TestShrink_ReleasesManyReadings(t *testing.T) {
	var b wire.Batch
	for _, tt := range []struct {
		rows, columns int
		isReleased    bool
	}{
		{wire.BatchReadings, 1, false},
		{2, 4999, true},
	} {
		body := "time" + columnNames(tt.columns) + "\n" + repeat("2026-04-20T14:00:00Z"+repeat(",1", tt.columns)+"\n", tt.rows)
		r, err := wire.NewReader(new(wire.Memory), wire.CSV, strings.NewReader(body), defaults(), wire.Columns{DeviceColumns: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Read(&b); err != nil {
			t.Fatal(err)
		}
		b.Sort()
		b.Reset()
		b.Shrink()
		if isReleased := cap(b.Readings)+cap(b.Verdicts)+cap(b.Lines) == 0; isReleased != tt.isReleased {
			t.Errorf("%d rows of %d devices: memory for %d readings", tt.rows, tt.columns, cap(b.Readings))
		}
	}
}
