package expr

import (
	"strings"

	"github.com/varvedb/varve/tests/dynamosim/value"
)

// token is a word, a placeholder, a number or a symbol of an expression. The last token of an expression
// has the text "".
type token struct {
	text string
	at   int // offset in the expression
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// isName reports whether a token is an attribute name or its placeholder.
func (t token) isName() bool {
	return t.text != "" && (t.text[0] == '#' || isWord(t.text[0]) && (t.text[0] < '0' || t.text[0] > '9'))
}

func (t token) isValue() bool { return t.text != "" && t.text[0] == ':' }

// is reports whether a token equals a keyword, ignoring case, or a symbol.
func (t token) is(text string) bool { return strings.EqualFold(t.text, text) }

// lex splits an expression into tokens. If it finds an invalid token, it returns that token in the
// result "bad".
func lex(text string) (tokens []token, bad *token) {
	tokens = make([]token, 0, 16)
	for i := 0; i < len(text); {
		c := text[i]
		end := i + 1
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '#' || c == ':' || isWord(c):
			for end < len(text) && isWord(text[end]) {
				end++
			}
		case (c == '<' || c == '>') && end < len(text) && (text[end] == '=' || c == '<' && text[end] == '>'):
			end++
		case !strings.ContainsRune("()[],.=<>+-", rune(c)):
			return nil, &token{text[i:end], i}
		}
		if (c == '#' || c == ':') && end == i+1 {
			return nil, &token{text[i:end], i}
		}
		tokens = append(tokens, token{text[i:end], i})
		i = end
	}
	return append(tokens, token{"", len(text)}), nil
}

// near returns the part of an expression around a token, for messages like Amazon's.
func near(text string, t token) string {
	return text[max(t.at-8, 0):min(t.at+len(t.text)+8, len(text))]
}

// reserved has some of Amazon's reserved words. To use one as a name, an expression needs a
// placeholder.
var reserved = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`ABORT ADD ALL AND ANY AS AT BETWEEN BY COUNT DATA DATE DAY DEFAULT DELETE END EXISTS FIELD FROM GROUP
		HASH HOUR IN INDEX ITEMS KEY KEYS LANGUAGE LAST LIMIT LIST LOCATION MAP MAX MIN MINUTE MONTH NAME NOT NULL NUMBER OR ORDER OWNER
		POSITION PRIMARY RANGE RAW REGION REMOVE ROLE ROW ROWS SECOND SET SIZE STATE STATUS STREAM SUM TABLE TEMPORARY TIME TIMESTAMP TO
		TOKEN TTL TYPE UNIT UNITS UPDATE USER VALUE VALUES VIEW WHEN WHERE WINDOW YEAR ZONE`) {
		reserved[w] = true
	}
}

// Mentions reports whether an expression uses the given attribute of an item.
func Mentions(text string, s *Scope, attribute string) bool {
	tokens, _ := lex(text)
	for i, t := range tokens {
		if isMember := i > 0 && tokens[i-1].is("."); t.isName() && !isMember && (t.text == attribute || s.Names[t.text] == attribute) {
			return true
		}
	}
	return false
}

func (p *parser) invalid(message string) error {
	return value.Invalid("Invalid " + p.kind + ": " + message)
}

func (p *parser) syntax() error {
	t := p.peek()
	if t.text == "" {
		return p.invalid(`Syntax error; token: "<EOF>", near: "` + near(p.text, t) + `"`)
	}
	return p.invalid(`Syntax error; token: "` + t.text + `", near: "` + near(p.text, t) + `"`)
}
