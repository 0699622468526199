package query_test

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

func TestParse_InvertsString(t *testing.T) {
	for in, want := range map[string]varve.Order{"": varve.Ascending, "asc": varve.Ascending, "desc": varve.Descending} {
		got, err := query.ParseOrder(in)
		if err != nil || got != want {
			t.Errorf("order %q is %s, %v", in, got, err)
		}
		if again, err := query.ParseOrder(got.String()); err != nil || again != got {
			t.Errorf("order %s is written %s", want, got)
		}
	}
	for in, want := range map[string]varve.By{"": varve.ByEvent, "event": varve.ByEvent, "arrival": varve.ByArrival} {
		got, err := query.ParseBy(in)
		if err != nil || got != want {
			t.Errorf("by %q is %s, %v", in, got, err)
		}
		if again, err := query.ParseBy(got.String()); err != nil || again != got {
			t.Errorf("by %s is written %s", want, got)
		}
	}
	for _, in := range []string{"ASC", "descending", " asc", "0", "arrivals"} {
		if got, err := query.ParseOrder(in); err == nil {
			t.Errorf("order %q is taken as %s", in, got)
		}
		if got, err := query.ParseBy(in); err == nil {
			t.Errorf("by %q is taken as %s", in, got)
		}
	}
}
