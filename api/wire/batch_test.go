package wire_test

import (
	"errors"
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"io"
	"strings"
	"testing"
)

// large returns a body of n readings of about the given size.
func large(f wire.Format, n, size int) string {
	var b strings.Builder
	text := repeat("x", size)
	for i := range n {
		switch {
		case f == wire.CSV && i == 0:
			b.WriteString("time,device,a\n")
		case f == wire.JSON && i == 0:
			b.WriteString("[")
		case f == wire.JSON:
			b.WriteString(",")
		}
		if f == wire.CSV {
			fmt.Fprintf(&b, "%d,d1,%s\n", 1475001526000+i, text)
		} else {
			fmt.Fprintf(&b, `{"device":"d1","time":%d,"fields":{"a":"%s"}}`+"\n", 1475001526000+i, text)
		}
	}
	if f == wire.JSON {
		b.WriteString("]")
	}
	return b.String()
}

// batchSizes returns the number of readings of each batch of a body.
func batchSizes(t *testing.T, f wire.Format, body string, b *wire.Batch) (sizes []int) {
	t.Helper()
	r, err := wire.NewReader(new(wire.Memory), f, strings.NewReader(body), defaults(), wire.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		b.Reset()
		err := r.Read(b)
		if b.Len() > 0 {
			sizes = append(sizes, b.Len())
		}
		if errors.Is(err, io.EOF) {
			b.Reset()
			return sizes
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBatch_IsBounded checks that a batch of JSON, NDJSON or CSV is full at about 4 MiB, or at 5,000
// small readings.
func TestBatch_IsBounded(t *testing.T) {
	const size, n = 50 << 10, 200
	most := wire.BatchBytes/size + 1
	for _, f := range []wire.Format{wire.JSON, wire.NDJSON, wire.CSV} {
		got := batchSizes(t, f, large(f, n, size), new(wire.Batch))
		sum := 0
		for i, k := range got {
			if sum += k; k > most || k < most-2 && i < len(got)-1 {
				t.Errorf("%s: batches of %v", f, got)
			}
		}
		if sum != n {
			t.Errorf("%s: %d readings", f, sum)
		}
		if got := batchSizes(t, f, large(f, wire.BatchReadings+1, 10), new(wire.Batch)); len(got) != 2 || got[0] != wire.BatchReadings {
			t.Errorf("%s: batches of %v", f, got)
		}
	}
	// Many fields with little text need memory, too.
	fields := object("{" + strings.TrimSuffix(repeat(`"a":1,`, 250), ",") + "}")
	if got := batchSizes(t, wire.NDJSON, repeat(fields+"\n", 1000), new(wire.Batch)); got[0] > 600 {
		t.Errorf("batches of %v", got)
	}
	// Invalid device names need memory, too.
	device := `{"device":"` + repeat("d", 50<<10) + `","time":1475001526000,"fields":{"a":1}}`
	if got := batchSizes(t, wire.NDJSON, repeat(device+"\n", n), new(wire.Batch)); got[0] > most {
		t.Errorf("batches of %v", got)
	}
}

// TestBatch_HasNoUnusedRoom checks that full batches of a smaller size have no memory for more readings. They must
// be full at MaxBytes, too.
func TestBatch_HasNoUnusedRoom(t *testing.T) {
	const most = 250
	b := wire.Batch{MaxReadings: most, MaxBytes: 64 << 10}
	for _, f := range []wire.Format{wire.JSON, wire.NDJSON, wire.CSV} {
		if got := batchSizes(t, f, large(f, 2*most, 1), &b); len(got) != 2 || got[0] != most {
			t.Errorf("%s: batches of %v, want two of %d", f, got, most)
		}
		if got := batchSizes(t, f, large(f, 100, 2<<10), &b); got[0] < 25 || got[0] > 32 {
			t.Errorf("%s: batches of %v, want some 31 readings of 2 KiB in 64 KiB", f, got)
		}
	}
	if n := cap(b.Readings); n != most || cap(b.Verdicts) != most || cap(b.Lines) != most {
		t.Errorf("memory for %d readings, %d verdicts and %d lines, want %d", n, cap(b.Verdicts), cap(b.Lines), most)
	}
}

// TestBudget_LimitsBatches checks that batches are small once their shared budget is used up, but always
// accept at least one reading. Released memory is available to other batches.
func TestBudget_LimitsBatches(t *testing.T) {
	const size, n = 50 << 10, 100
	budget := wire.NewBudget(2 << 20)
	body := large(wire.NDJSON, n, size)
	var first, second wire.Batch
	first.Share(budget)
	second.Share(budget)
	r, err := wire.NewReader(new(wire.Memory), wire.NDJSON, strings.NewReader(body), defaults(), wire.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Read(&first); err != nil || first.Len() < 40 || first.Len() > 50 {
		t.Fatalf("%d readings, %v", first.Len(), err)
	}
	if got := batchSizes(t, wire.NDJSON, body, &second); got[0] > 6 || got[len(got)-1] < 1 {
		t.Errorf("batches of %v when nothing is left", got)
	}
	first.Reset()
	if got := batchSizes(t, wire.NDJSON, body, &second); got[0] < 40 {
		t.Errorf("batches of %v when all was given back", got)
	}
}

// TestReader_RejectsLongObjects checks that an object of more than 1 MiB is one rejected reading,
// and that later lines are read.
func TestReader_RejectsLongObjects(t *testing.T) {
	long := object(`{"a":"` + repeat("x", 1<<20) + `"}`)
	wide := "{\n" + repeat(" ", 1<<20) + long[1:]
	for body, want := range map[string]string{
		long: "1:too_large", long + "\n" + good: "1:too_large 2:ok", wide: "0:too_large", good + "\n" + long + "\n" + good: "1:ok 2:too_large 3:ok",
		"[" + good + "," + repeat("\n", 1<<20) + good + "]": "0:ok 0:ok",
	} {
		if got := codes(mustRead(t, wire.JSON, body)); got != want {
			t.Errorf("%.40q: %s, want %s", body, got, want)
		}
	}
}

// TestSort_KeepsReadingsOfDevicesTogether checks that a sorted batch has the readings of the body, with
// the readings of each device one after another.
func TestSort_KeepsReadingsOfDevicesTogether(t *testing.T) {
	var b wire.Batch
	for _, devices := range []string{"", "a", "aaa", "aabb", "bbaa", "abab", "cabbage", "bad cab", "zyxwvutsrqponmlkjihgfedcba"} {
		b.Reset()
		var body strings.Builder
		for i, d := range devices {
			fmt.Fprintf(&body, `{"device":"%c","time":%d,"fields":{"v":1}}`+"\n", d, 1475001526000+i)
		}
		r, err := wire.NewReader(new(wire.Memory), wire.NDJSON, strings.NewReader(body.String()), defaults(), wire.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Read(&b); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for i := range b.Readings {
			if b.Readings[i].Device == " " {
				b.Verdicts[i].Code = "space"
			}
		}
		b.Sort()
		for i, d := range devices {
			r, v := &b.Readings[b.Index(i)], &b.Verdicts[b.Index(i)]
			if r.Device != string(d) || r.Time.UnixMilli() != int64(1475001526000+i) || (v.Code == "space") != (d == ' ') || b.Lines[i] != i+1 {
				t.Errorf("%q: reading %d is of %q at %s: %v", devices, i, r.Device, r.Time, v)
			}
		}
		seen := map[string]bool{}
		for i := range b.Readings {
			r := &b.Readings[i]
			if i > 0 && b.Readings[i-1].Device == r.Device {
				if !b.Readings[i-1].Time.Before(r.Time) {
					t.Errorf("%q: the readings of %q are in another order", devices, r.Device)
				}
				continue
			}
			if seen[r.Device] {
				t.Errorf("%q: the readings of %q are apart", devices, r.Device)
			}
			seen[r.Device] = true
		}
	}
}
