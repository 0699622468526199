package value

import (
	"math/big"
	"strconv"
	"strings"
)

// Limits of numbers. Source: "Constraints in Amazon DynamoDB", Data types.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// decimal is the number 0.digits × 10^point, or 0 if it has no digits. Neither the first nor the
// last digit is 0.
type decimal struct {
	negative bool
	digits   string
	point    int
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseDecimal parses a number. It does not check the limits.
func parseDecimal(text string) (d decimal, ok bool) {
	rest, exponent := text, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		n, err := strconv.Atoi(rest[i+1:])
		if err != nil {
			return d, false
		}
		rest, exponent = rest[:i], n
	}
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		d.negative, rest = rest[0] == '-', rest[1:]
	}
	whole, part, _ := strings.Cut(rest, ".")
	if whole+part == "" || !isDigits(whole) || !isDigits(part) {
		return d, false
	}
	all := whole
	if part != "" {
		all += part
	}
	digits := strings.TrimLeft(all, "0")
	d.point = len(whole) - (len(all) - len(digits)) + exponent
	if d.digits = strings.TrimRight(digits, "0"); d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

// ParseNumber returns the canonical form of a number. It has no exponent, and no superfluous
// zeros at either end.
func ParseNumber(text string) (string, error) {
	if isCanonicalInteger(text) {
		return text, nil
	}
	d, ok := parseDecimal(text)
	if !ok {
		if text == "" {
			return "", Invalid("The parameter cannot be converted to a numeric value")
		}
		return "", invalidf("The parameter cannot be converted to a numeric value: %s", text)
	}
	return d.checked()
}

// isCanonicalInteger reports whether a text is a positive integer of at most 18 digits in canonical
// form. Such a text needs no further checks.
func isCanonicalInteger(text string) bool {
	return len(text) > 0 && len(text) <= 18 && text[0] >= '1' && text[0] <= '9' && isDigits(text)
}

// checked returns the text of a number. It fails if the number exceeds the limits.
func (d decimal) checked() (string, error) {
	switch {
	case len(d.digits) > maxDigits:
		return "", Invalid("Attempting to store more than 38 significant digits in a Number")
	case d.digits != "" && d.point-1 > maxExponent:
		return "", Invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case d.digits != "" && d.point-1 < minExponent:
		return "", Invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return d.text(), nil
}

func (d decimal) text() string {
	sign := ""
	if d.negative {
		sign = "-"
	}
	switch {
	case d.digits == "":
		return "0"
	case d.point <= 0:
		return sign + "0." + strings.Repeat("0", -d.point) + d.digits
	case d.point >= len(d.digits):
		return sign + d.digits + strings.Repeat("0", d.point-len(d.digits))
	default:
		return sign + d.digits[:d.point] + "." + d.digits[d.point:]
	}
}

// numberSize returns the size of a number in bytes. It is one byte for each pair of digits, plus
// one byte, plus one for a minus sign, but at most 21. The size of 0 is 1.
func numberSize(text string) int {
	d, _ := parseDecimal(text)
	if d.digits == "" {
		return 1
	}
	n := len(d.digits)
	if d.point%2 != 0 { // pairs of digits are aligned to the decimal point
		n++
	}
	n = (n+1)/2 + 1
	if d.negative {
		n++
	}
	return min(n, 21)
}

const pointBias = 1 << 14

// numberKey returns bytes that sort in the order of the numbers.
func numberKey(text string) string {
	d, _ := parseDecimal(text)
	if d.digits == "" {
		return "\x80"
	}
	p := d.point + pointBias
	b := append([]byte{0x81, byte(p >> 8), byte(p)}, d.digits...)
	if d.negative {
		for i := range b {
			b[i] = ^b[i]
		}
		b = append(b, 0xff) // a negative number is larger if its digits are a prefix of the other's digits
	}
	return string(b)
}

func compareNumbers(a, b string) int { return strings.Compare(numberKey(a), numberKey(b)) }

// Plus returns a + b, or a - b if minus is true.
func Plus(a, b string, minus bool) (string, error) {
	x, _ := parseDecimal(a)
	y, _ := parseDecimal(b)
	if minus {
		y.negative = !y.negative
	}
	scale := min(x.point-len(x.digits), y.point-len(y.digits)) // the lower one of the exponents of the last digits
	sum := new(big.Int).Add(x.scaled(scale), y.scaled(scale))
	d, _ := parseDecimal(sum.String() + "e" + strconv.Itoa(scale))
	if len(d.digits) > maxDigits {
		return "", Invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	}
	return d.checked()
}

// scaled returns the number as a multiple of 10^scale.
func (d decimal) scaled(scale int) *big.Int {
	if d.digits == "" {
		return new(big.Int)
	}
	n, _ := new(big.Int).SetString(d.digits, 10)
	shift := d.point - len(d.digits) - scale
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	if d.negative {
		n.Neg(n)
	}
	return n
}
