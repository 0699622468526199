package decimal_test

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/decimal/decimaltest"
	"pgregory.net/rapid"
)

func genSummand() *rapid.Generator[decimal.Number] {
	return rapid.Custom(func(t *rapid.T) decimal.Number {
		hi := rapid.SampledFrom([]uint64{0, 0, 0, 1, 5421010862427522169}).Draw(t, "hi")
		exp := rapid.OneOf(rapid.IntRange(-3, 1), rapid.IntRange(-100, 80)).Draw(t, "exp")
		n, err := decimal.New(rapid.Bool().Draw(t, "neg"), hi, rapid.Uint64().Draw(t, "lo"), exp)
		if err != nil {
			return decimal.FromInt(rapid.Int64().Draw(t, "int"))
		}
		return n
	})
}

// TestSum_IsExact adds random numbers one by one and in two groups. Both sums must be exact and have
// the same text, and parsing the text must return the sum. The relative error of the mean must be at
// most 5e-20.
func TestSum_IsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(genSummand(), 1, 30).Draw(t, "numbers")
		cut := rapid.IntRange(0, len(numbers)).Draw(t, "cut")
		want := new(big.Rat)
		var one, a, b decimal.Sum
		for i, n := range numbers {
			want.Add(want, decimaltest.Rat(t, n.String()))
			if one.Add(n); i < cut {
				a.Add(n)
			} else {
				b.Add(n)
			}
		}
		b.AddSum(&a)
		if decimaltest.Rat(t, one.String()).Cmp(want) != 0 || one.String() != b.String() {
			t.Fatalf("%s, and in groups %s, want %s", one.String(), b.String(), want)
		}
		text, err := json.Marshal(one)
		var back decimal.Sum
		if err != nil || json.Unmarshal(text, &back) != nil || back.String() != one.String() {
			t.Fatalf("%s was read back as %s, %v", text, back.String(), err)
		}
		mean := one.Mean(int64(len(numbers)))
		off := new(big.Rat).Sub(decimaltest.Rat(t, mean.String()), want.Quo(want, big.NewRat(int64(len(numbers)), 1)))
		bound := new(big.Rat).Mul(want.Abs(want), decimaltest.Rat(t, "5e-20"))
		if off.Abs(off).Cmp(bound) > 0 {
			t.Fatalf("the mean of %s over %d is %s", one.String(), len(numbers), mean.String())
		}
	})
}

func TestMean_RoundsHalfToEven(t *testing.T) {
	for _, c := range []struct {
		sum   string
		count int64
		want  string
	}{
		{"67.6", 3, "22.533333333333333333"},
		{"1", 3, "0.33333333333333333333"},
		{"2", 3, "0.66666666666666666667"},
		{"-2", 3, "-0.66666666666666666667"},
		{"10", 4, "2.5"},
		{"0", 7, "0"},
		{"5", 1, "5"},
		{"12345678901234567890123456789012345678", 1, "12345678901234567890123456789012345678"},
		{"12345678901234567890123456789012345678", 4, "3086419725308641972530864197253086420"}, // the exact mean ends in 19.5
		{"100000000000000000000000000000.01", 2, "50000000000000000000000000000"},              // the exact mean ends in 0.005
		{"4611686018427387903", 4, "1152921504606846975.8"},                                    // the exact mean ends in .75
		{"4611686018427387901", 4, "1152921504606846975.2"},                                    // the exact mean ends in .25
		{"1e125", 2, "5e124"},
		{"1e-100", 8, "1.25e-101"},
	} {
		d, err := decimal.ParseSum(c.sum)
		if err != nil {
			t.Fatal(err)
		}
		mean := d.Mean(c.count)
		if got := mean.String(); got != c.want {
			t.Errorf("%s / %d is %s, want %s", c.sum, c.count, got, c.want)
		}
		if short, ok := d.ShortMean(c.count); ok && string(short.Append(nil)) != c.want {
			t.Errorf("short: %s / %d is %s, want %s", c.sum, c.count, short.Append(nil), c.want)
		}
	}
	for _, bad := range []string{"", "x", "1e", "1.-2", "--1", "1_0", "0x1", "1e1e1"} {
		if d, err := decimal.ParseSum(bad); err == nil {
			t.Errorf("%q is read as %s", bad, d.String())
		}
	}
}

func TestShortMean_EqualsMean(t *testing.T) {
	short := 0
	rapid.Check(t, func(t *rapid.T) {
		var d decimal.Sum
		for range rapid.IntRange(0, 3).Draw(t, "numbers") {
			c := rapid.OneOf(rapid.Int64Range(-1000, 1000), rapid.Int64Range(-1<<61, 1<<61)).Draw(t, "coefficient")
			d.Add(decimal.FromScaled(c, -rapid.IntRange(0, 6).Draw(t, "decimals")))
		}
		count := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 2e9)).Draw(t, "count")
		got, ok := d.ShortMean(count)
		if !ok {
			return
		}
		short++
		if want := d.Mean(count); string(got.Append(nil)) != want.String() {
			t.Fatalf("%s / %d is %s, want %s", d.String(), count, got.Append(nil), want.String())
		}
	})
	if short < 20 {
		t.Errorf("only %d sums had a short mean", short)
	}
}
