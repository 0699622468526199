package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// benchedBody returns the readings of a fleet of 1,000 devices with three fields.
func benchedBody(f wire.Format) []byte {
	var body bytes.Buffer
	for n := range 20_000 {
		device, at := n%1000, int64(1475001526000)+int64(n/1000)*1000
		if f == wire.Line {
			fmt.Fprintf(&body, "bench,device=dev-%04d temperature=%d.%d,humidity=%d.%d,battery=%di %d000000\n",
				device, 20+n%3, n%10, 40+n%5, n%7, 80+n%2, at)
			continue
		}
		fmt.Fprintf(&body, `{"device":"dev-%04d","time":%d,"fields":{"temperature":%d.%d,"humidity":%d.%d,"battery":%d}}`+"\n",
			device, at, 20+n%3, n%10, 40+n%5, n%7, 80+n%2)
	}
	return body.Bytes()
}

// BenchmarkReader measures the decoding of a reading with three fields.
func BenchmarkReader(b *testing.B) {
	for _, f := range []wire.Format{wire.NDJSON, wire.Line} {
		b.Run(f.Name(), func(b *testing.B) {
			body, mem, batch := benchedBody(f), new(wire.Memory), new(wire.Batch)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				r, err := wire.NewReader(mem, f, bytes.NewReader(body), wire.Defaults{Tenant: "t", Stream: "bench"}, wire.Columns{})
				for err == nil {
					batch.Reset()
					err = r.Read(batch)
					n += batch.Len()
					if batch.Len() > 0 && batch.Verdicts[0].Outcome != 0 {
						b.Fatal(batch.Verdicts[0])
					}
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/reading")
		})
	}
}
