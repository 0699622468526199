package prometheus_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve/prometheus"
)

// TestAppendFloat_EqualsStrconv compares the text of numbers with the shortest text of strconv, for
// numbers of few decimals, their neighbors and random bits.
func TestAppendFloat_EqualsStrconv(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(f float64) {
		format := byte('f')
		if abs := math.Abs(f); abs != 0 && !math.IsInf(f, 0) && (abs < 1e-6 || abs >= 1e21) {
			format = 'e'
		}
		if got, want := string(prometheus.AppendFloat(nil, f)), strconv.FormatFloat(f, format, -1, 64); got != want {
			t.Errorf("%b: %s, want %s", f, got, want)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 0.0005, -0.0005, 0.001, 1e-300, 1e15, 999_999_999_999.999, 1e12, 1e21, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		check(f)
	}
	for range 300_000 {
		f := float64(random.Int64N(int64(math.Pow10(random.IntN(18)+1)))) / math.Pow10(random.IntN(8))
		check(f)
		check(-f)
		check(math.Nextafter(f, 0))
		check(math.Nextafter(f, math.MaxFloat64))
		check(math.Float64frombits(random.Uint64()))
	}
}

// TestAppendJSON_Parts checks that results of any size have all series and samples in order. Some
// series lack samples, or have samples at other times.
func TestAppendJSON_Parts(t *testing.T) {
	for series, points := range map[int]int{0: 0, 1: 30_000, 2: 15_000, 3: 9_000, 7: 5_000, 100: 300} {
		var m promql.Matrix
		for i := range series {
			s := promql.Series{Metric: labels.FromStrings("i", strconv.Itoa(i))}
			for j := range points {
				if i%3 != 1 || j%5 != 2 {
					s.Floats = append(s.Floats, promql.FPoint{T: int64(j)*1000 - int64(i%4)*250, F: float64(i) + float64(j)/8})
				}
			}
			m = append(m, s)
		}
		var got struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
		if err := json.Unmarshal((&prometheus.Result{Value: m}).AppendJSON(nil), &got); err != nil || len(got.Result) != series {
			t.Fatalf("%d series of %d: %v", len(got.Result), series, err)
		}
		for i, s := range got.Result {
			if s.Metric["i"] != strconv.Itoa(i) || len(s.Values) != len(m[i].Floats) {
				t.Fatalf("series %d of %d: %v, %d points", i, series, s.Metric, len(s.Values))
			}
			for j, v := range s.Values {
				if p := m[i].Floats[j]; v[0] != float64(p.T)/1000 || v[1] != string(prometheus.AppendFloat(nil, p.F)) {
					t.Fatalf("series %d of %d, point %d: %v, want %v", i, series, j, v, p)
				}
			}
		}
	}
}
