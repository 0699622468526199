package decimal_test

import (
	"errors"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/decimal/decimaltest"
	"testing"
)

var numberTexts = []struct {
	reason, in, want string
}{
	{"zero", "0", "0"},
	{"zero keeps its decimals", "0.00", "0.00"},
	{"there is one zero", "-0", "0"},
	{"there is one zero of two decimals", "-0.00", "0.00"},
	{"one decimal", "42.0", "42.0"},
	{"one decimal below one", "0.5", "0.5"},
	{"negative, below one", "-0.5", "-0.5"},
	{"trailing zeros are scale", "22.40", "22.40"},
	{"trailing zeros of an integer", "4200", "4200"},
	{"zeros behind the point", "0.0001", "0.0001"},
	{"negative with decimals", "-273.15", "-273.15"},
	{"exponent without sign", "1e3", "1000"},
	{"exponent with plus", "1E+3", "1000"},
	{"exponent with zeros", "1e003", "1000"},
	{"exponent of zero", "7e0", "7"},
	{"exponent that keeps a decimal", "1.50e1", "15.0"},
	{"exponent that eats the decimals", "1.5e1", "15"},
	{"exponent that eats more", "1.5e3", "1500"},
	{"negative exponent", "12e-1", "1.2"},
	{"negative exponent beyond the digits", "12E-4", "0.0012"},
	{"zero with an exponent", "0e9", "0"},
	{"zero with a huge exponent", "0e99999999999999999999", "0"},
	{"zero with a negative exponent", "0e-5", "0.00000"},
	{"zero with more decimals than a number has digits", "0." + zeros(60), "0." + zeros(38)},
	{"zero with a huge negative exponent", "0e-99999999999999999999", "0." + zeros(38)},
	{"the last of 64 bits", "18446744073709551615", "18446744073709551615"},
	{"the first beyond 64 bits", "18446744073709551616", "18446744073709551616"},
	{"ten times the last of 64 bits", "184467440737095516150", "184467440737095516150"},
	{"ten to the 19", "1" + zeros(19), "1" + zeros(19)},
	{"a low half of zeros", "-12345678901234567890" + zeros(18), "-12345678901234567890" + zeros(18)},
	{"a low half that begins with zeros", "1" + zeros(18) + "0000000000000000007", "1" + zeros(18) + "0000000000000000007"},
	{"38 digits", nines(38), nines(38)},
	{"38 digits with a point", "-" + nines(30) + "." + nines(8), "-" + nines(30) + "." + nines(8)},
	{"38 decimals", "0." + nines(38), "0." + nines(38)},
	{"38 digits that end in zeros", "1." + zeros(37), "1." + zeros(37)},
	{"zeros beyond 38 digits cannot be kept", "1." + zeros(40), "1." + zeros(37)},
	{"41 digits are plain", "1e40", "1" + zeros(40)},
	{"42 digits are not", "1e41", "1e41"},
	{"39 decimals are plain", "1e-39", "0." + zeros(38) + "1"},
	{"40 decimals are not", "1e-40", "1e-40"},
	{"scale survives an exponent", "1.50e-60", "1.50e-60"},
	{"38 digits and an exponent", "1." + nines(37) + "e100", "1." + nines(37) + "e100"},
	{"the largest", "9." + nines(37) + "e125", "9." + nines(37) + "e125"},
	{"the least", "-9." + nines(37) + "e125", "-9." + nines(37) + "e125"},
	{"the smallest above zero", "1e-130", "1e-130"},
	{"the smallest, with decimals", "1." + zeros(37) + "e-130", "1." + zeros(37) + "e-130"},
}

// TestNumber_KeepsText checks the text of parsed numbers. The text of a plain decimal must not
// change.
func TestNumber_KeepsText(t *testing.T) {
	for _, tt := range numberTexts {
		t.Run(tt.reason, func(t *testing.T) {
			n := number(t, tt.in)
			if got := n.String(); got != tt.want {
				t.Errorf("%s is written %s, want %s", tt.in, got, tt.want)
			}
			if got := string(n.Append([]byte("n="))); got != "n="+tt.want {
				t.Errorf("%s is appended as %s, want n=%s", tt.in, got, tt.want)
			}
			if got := number(t, tt.want).String(); got != tt.want {
				t.Errorf("%s, read again, is written %s", tt.want, got)
			}
		})
	}
}

func TestParse_ChecksLimits(t *testing.T) {
	tests := []struct {
		reason, in string
		want       error
	}{
		{"38 digits", nines(38), nil},
		{"39 digits", nines(39), decimal.ErrPrecision},
		{"39 digits across the point", nines(20) + "." + nines(19), decimal.ErrPrecision},
		{"39 digits, the last one far away", "1." + zeros(37) + "1", decimal.ErrPrecision},
		{"39 digits, some beyond a run of zeros", "1" + zeros(100) + "1", decimal.ErrPrecision},
		{"39 digits that 128 bits would hold", "340282366920938463463374607431768211455", decimal.ErrPrecision},
		{"39 digits of which the last is zero", nines(38) + "0", nil},
		{"leading zeros are no digits", "0." + zeros(60) + nines(38), nil},
		{"trailing zeros are no digits", nines(38) + zeros(60), nil},
		{"zeros after the point are no digits", nines(38) + "." + zeros(60), nil},
		{"below 1e126", "9.9e125", nil},
		{"1e126", "1e126", decimal.ErrRange},
		{"-1e126", "-1e126", decimal.ErrRange},
		{"1e126 in digits", "1" + zeros(126), decimal.ErrRange},
		{"1e125 in digits", "1" + zeros(125), nil},
		{"12e125", "12e125", decimal.ErrRange},
		{"1e-130", "1e-130", nil},
		{"1e-131", "1e-131", decimal.ErrRange},
		{"9.9e-131", "9.9e-131", decimal.ErrRange},
		{"10e-131 is 1e-130", "10e-131", nil},
		{"0.1e-129 is 1e-130", "0.1e-129", nil},
		{"1e-130 in digits", "0." + zeros(129) + "1", nil},
		{"1e-131 in digits", "0." + zeros(130) + "1", decimal.ErrRange},
		{"an exponent beyond any integer", "1e" + nines(40), decimal.ErrRange},
		{"a negative one", "1e-" + nines(40), decimal.ErrRange},
		{"64 KiB of zeros, taken back", "1" + zeros(65_000) + "e-65000", nil},
		{"64 KiB of decimals, taken back", "0." + zeros(65_000) + "1e65001", nil},
		{"64 KiB of zeros", "1" + zeros(65_000), decimal.ErrRange},
		{"64 KiB of decimals", "0." + zeros(65_000) + "1", decimal.ErrRange},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			n, err := decimal.Parse(tt.in)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v, %v, want %v", n, err, tt.want)
			}
			if _, err := decimal.Parse([]byte(tt.in)); !errors.Is(err, tt.want) {
				t.Errorf("as bytes: %v, want %v", err, tt.want)
			}
			if err == nil && rat(n).Cmp(decimaltest.Rat(t, tt.in)) != 0 {
				t.Errorf("read as %s", n)
			}
		})
	}
}

func TestParse_RejectsMalformedText(t *testing.T) {
	for _, in := range []string{
		"", " ", "-", "+", ".", "e", "E5", "-.", "01", "-01", "00", "00.5", "1.", "-1.", "1.e5", ".5", "-.5", "+1", "++1", "--1",
		"1e", "1e+", "1e-", "1E", "1e5.0", "1e5e5", "1.2.3", "1..2", "1-", "1-2", "0x1", "0x1p4", "0b1", "0o7", "1_000", "1,5",
		"1 ", " 1", "1\n", "1 2", "1\x00", "NaN", "nan", "Inf", "-Inf", "inf", "Infinity", "null", "true", `"1"`, "١", "1٫5", "½", "\xff",
		"1a", "a1", "1e5a", "1.5a", "1f", "1L",
	} {
		if n, err := decimal.Parse(in); !errors.Is(err, decimal.ErrSyntax) {
			t.Errorf("%q: got %s, %v, want %v", in, n, err, decimal.ErrSyntax)
		}
	}
}
