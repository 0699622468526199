package filter

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/quote"
)

// Parse parses conditions that are joined by the word "and", as in temperature > 30 and level =
// error.
//
// A condition is a field, one of = != < <= > >=, and a value. A value in the form of a number is a
// number. It may lack digits on one side of the point, as in 20. or .5 without quotes. The values
// true and false are booleans, and all others are strings. A value that only begins like a number
// is an error. In double quotes, any value is a string, such as "30". A field may be in quotes,
// too. In quotes, a backslash escapes a quote or a backslash.
//
// The result has the conditions of all texts.
func Parse(texts ...string) (f Filter, err error) {
	for _, text := range texts {
		if len(text) > MaxText {
			return nil, fmt.Errorf("has %d bytes, the limit is %d: use fewer conditions", len(text), MaxText)
		}
		p := parser{rest: text}
		for more := true; more; {
			c, err := p.condition()
			if err != nil {
				return nil, err
			}
			f = append(f, c)
			if more, err = p.hasAnother(); err != nil {
				return nil, err
			}
		}
	}
	if len(f) > MaxConditions {
		return nil, fmt.Errorf("%d conditions exceed the limit %d: use fewer", len(f), MaxConditions)
	}
	return f, nil
}

const remedy = "write a condition as in temperature>30, and join several by and"

type parser struct{ rest string }

func (p *parser) skipSpace() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

func (p *parser) condition() (c Condition, err error) {
	if c.Field, _, err = p.word("a field"); err != nil {
		return c, err
	}
	if c.Field == "" {
		return c, fmt.Errorf("a field is empty: %s", remedy)
	}
	p.skipSpace()
	for _, wrong := range wrongOperators {
		if strings.HasPrefix(p.rest, wrong.text) {
			return c, fmt.Errorf("%s is not an operator: use %s", wrong.text, wrong.use)
		}
	}
	for _, known := range operators {
		if rest, ok := strings.CutPrefix(p.rest, known.text); ok {
			c.Operator, p.rest = known.op, rest
			break
		}
	}
	if c.Operator == 0 {
		return c, fmt.Errorf("an operator is missing after %s: use = != < <= > or >=", quote.Text(c.Field))
	}
	text, quoted, err := p.word("a value")
	if err != nil {
		return c, err
	}
	if quoted {
		c.Value = varve.StringValue(text)
	} else if c.Value, err = valueOf(text); err != nil {
		return c, err
	}
	if c.Value.Kind() == varve.KindBool && c.Operator > NotEqual {
		return c, fmt.Errorf("%s has no order: use = or !=, or put it in quotes", text)
	}
	return c, nil
}

// wrongOperators lists operators of other languages, and their equivalents.
var wrongOperators = []struct{ text, use string }{{"==", "="}, {"<>", "!="}, {"=>", ">="}, {"=<", "<="}, {"=!", "!="}}

// valueOf returns the value of a word without quotes.
func valueOf(word string) (varve.Value, error) {
	if word == "true" || word == "false" {
		return varve.BoolValue(word == "true"), nil
	}
	if strings.EqualFold(word, "true") || strings.EqualFold(word, "false") {
		return varve.Value{}, fmt.Errorf("%s is not a value: write %s, or put a text in double quotes", quote.Text(word), strings.ToLower(word))
	}
	number, looksLike := numberOf(word)
	if !looksLike {
		return varve.StringValue(word), nil
	}
	n, err := decimal.Parse(number)
	if err != nil {
		return varve.Value{}, fmt.Errorf("%s is %w: write a number as in -0.5 or 2e3, or put a text in double quotes", quote.Text(word), err)
	}
	return varve.NumberValue(n), nil
}

// numberOf adds the missing zero to a word such as .5, and removes a point at the end of a word. It
// also reports whether the word begins like a number.
func numberOf(word string) (number string, looksLike bool) {
	digits := strings.TrimLeft(word, "+-")
	sign := word[:len(word)-len(digits)]
	if strings.HasPrefix(digits, ".") {
		digits = "0" + digits
		looksLike = len(digits) > 2 && isDigit(digits[2])
	} else {
		looksLike = digits != "" && isDigit(digits[0])
	}
	if strings.Count(digits, ".") == 1 {
		digits = strings.TrimSuffix(digits, ".")
	}
	return sign + digits, looksLike
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hasAnother reads the word "and", and reports whether it was found. At the end of the text, it
// returns false. It fails for any other text.
func (p *parser) hasAnother() (bool, error) {
	p.skipSpace()
	if p.rest == "" {
		return false, nil
	}
	rest := p.rest
	word, quoted, err := p.word("and")
	if err != nil || quoted || !strings.EqualFold(word, "and") {
		return false, fmt.Errorf("%s follows a condition: join conditions by and, and put values with spaces in quotes", quote.Text(rest))
	}
	return true, nil
}

// word reads a text in quotes, or a word that ends at a space, an operator or a quote.
func (p *parser) word(kind string) (text string, quoted bool, err error) {
	p.skipSpace()
	if strings.HasPrefix(p.rest, `"`) {
		text, err = p.quoted()
		return text, true, err
	}
	if strings.HasPrefix(p.rest, "'") {
		return "", false, fmt.Errorf("%s has single quotes: use double quotes", quote.Text(p.rest))
	}
	end := strings.IndexFunc(p.rest, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`=!<>"`, c) })
	if end < 0 {
		end = len(p.rest)
	}
	if end == 0 {
		return "", false, fmt.Errorf("%s is missing: %s", kind, remedy)
	}
	text, p.rest = p.rest[:end], p.rest[end:]
	return text, false, nil
}

func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return b.String(), nil
		case c == '\\' && i+1 < len(p.rest):
			i++
			b.WriteByte(p.rest[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("%s lacks the closing quote: add it", quote.Text(p.rest))
}

// String returns the filter as a text in the syntax of Parse. For the empty filter, it returns "", which
// Parse refuses. The text of a long filter may exceed MaxText.
func (f Filter) String() string {
	var b strings.Builder
	for i := range f {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString(inQuotes(f[i].Field) + f[i].Operator.String())
		if v := f[i].Value; v.Kind() == varve.KindString {
			b.WriteString(inQuotes(v.Text()))
		} else {
			b.WriteString(v.String())
		}
	}
	return b.String()
}

func inQuotes(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
