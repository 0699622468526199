package decimal_test

import (
	"math/big"
	"testing"

	"github.com/varvedb/varve/decimal"
	"pgregory.net/rapid"
)

func sumOf(t *rapid.T, texts []string) (sum, squares decimal.Sum, exact, square *big.Rat) {
	exact, square = new(big.Rat), new(big.Rat)
	for _, text := range texts {
		n, err := decimal.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		sum.Add(n)
		squares.AddSquare(n)
		x, _ := new(big.Rat).SetString(text)
		exact.Add(exact, x)
		square.Add(square, new(big.Rat).Mul(x, x))
	}
	return sum, squares, exact, square
}

func ratOf(s *decimal.Sum) *big.Rat {
	r, _ := new(big.Rat).SetString(s.String())
	return r
}

var texts = rapid.SliceOfN(rapid.OneOf(
	rapid.StringMatching(`-?[1-9][0-9]{0,3}(\.[0-9]{1,3})?`),
	rapid.StringMatching(`-?[1-9][0-9]{0,37}`),
	rapid.StringMatching(`-?[1-9]\.[0-9]{1,30}e-?[1-9][0-9]`),
	rapid.SampledFrom([]string{"0", "0.000", "4611686018427387904", "3037000499", "1e125", "1e-130"}),
), 1, 8)

// TestSquares_AreExact compares sums of squares and of products with sums of rational numbers. It
// also checks Shift and Compare.
func TestSquares_AreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := texts.Draw(t, "numbers")
		_, squares, _, want := sumOf(t, list)
		if got := ratOf(&squares); got.Cmp(want) != 0 {
			t.Fatalf("squares of %v: %s, want %s", list, got, want)
		}
		factor := rapid.Int64().Draw(t, "factor")
		var products decimal.Sum
		exact := new(big.Rat)
		for _, text := range list {
			n, _ := decimal.Parse(text)
			products.AddProduct(n, factor)
			x, _ := new(big.Rat).SetString(text)
			exact.Add(exact, x.Mul(x, new(big.Rat).SetInt64(factor)))
		}
		if got := ratOf(&products); got.Cmp(exact) != 0 {
			t.Fatalf("%v times %d: %s, want %s", list, factor, got, exact)
		}
		shifted := products.Shift(-3)
		if got := ratOf(&shifted); got.Cmp(exact.Quo(exact, big.NewRat(1000, 1))) != 0 {
			t.Fatalf("%s shifted by -3 is %s", products.String(), got)
		}
		other, _, sum, _ := sumOf(t, texts.Draw(t, "others"))
		if got, want := squares.Compare(&other), want.Cmp(sum); got != want {
			t.Fatalf("%s and %s compare as %d, want %d", squares.String(), other.String(), got, want)
		}
	})
}

// TestDeviation_RoundsOnce checks that a deviation differs from the exact one by at most half a
// unit of its last digit. It compares squares with the exact variance.
func TestDeviation_RoundsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := texts.Draw(t, "numbers")
		sum, squares, exact, square := sumOf(t, list)
		n := big.NewRat(int64(len(list)), 1)
		variance, mean := square.Quo(square, n), exact.Quo(exact, n)
		variance.Sub(variance, mean.Mul(mean, mean))
		d := decimal.Deviation(&sum, &squares, int64(len(list)))
		got := ratOf(&d)
		if variance.Sign() == 0 {
			if got.Sign() != 0 {
				t.Fatalf("deviation of %v is %s", list, d.String())
			}
			return
		}
		// The result has 20 significant digits. So half a unit of its last digit is at most
		// 0.5e-19 of the result.
		half := new(big.Rat).Mul(got, big.NewRat(5, 1))
		scale, _ := new(big.Rat).SetString("1e-20")
		half.Mul(half, scale)
		low, high := new(big.Rat).Sub(got, half), new(big.Rat).Add(got, half)
		if low.Mul(low, low).Cmp(variance) > 0 || high.Mul(high, high).Cmp(variance) < 0 {
			t.Fatalf("deviation of %v is %s", list, d.String())
		}
	})
}

func TestDeviation_Examples(t *testing.T) {
	for _, c := range []struct {
		numbers []string
		want    string
	}{
		{[]string{"1", "3"}, "1"}, {[]string{"2", "4", "4", "4", "5", "5", "7", "9"}, "2"}, {[]string{"7"}, "0"}, {[]string{"0.1", "0.1"}, "0"},
		{[]string{"1", "2"}, "0.5"}, {[]string{"1", "2", "3"}, "0.81649658092772603273"}, {[]string{"1e10", "-1e10"}, "10000000000"},
		{[]string{"1e60", "-1e60"}, "1e60"}, {[]string{"1e-60", "-1e-60"}, "1e-60"},
	} {
		var sum, squares decimal.Sum
		for _, text := range c.numbers {
			n, err := decimal.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(n)
			squares.AddSquare(n)
		}
		if d := decimal.Deviation(&sum, &squares, int64(len(c.numbers))); d.String() != c.want {
			t.Errorf("deviation of %v: %s, want %s", c.numbers, d.String(), c.want)
		}
	}
}

func TestInterpolate_Examples(t *testing.T) {
	for _, c := range []struct {
		from, to    string
		part, whole int64
		want        string
	}{
		{"1", "2", 1, 3, "1.3333333333333333333"}, {"1.000", "2.00", 1, 3, "1.3333333333333333333"}, {"-1", "1", 1, 2, "0"}, {"5", "5", 2, 7, "5"},
	} {
		from, _ := decimal.ParseSum(c.from)
		to, _ := decimal.ParseSum(c.to)
		if got := from.Interpolate(&to, c.part, c.whole); got.String() != c.want {
			t.Errorf("%d/%d from %s to %s: %s, want %s", c.part, c.whole, c.from, c.to, got.String(), c.want)
		}
	}
}
