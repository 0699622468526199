package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// tag begins a template: html`<p class="quiet">${text}</p>`.
const tag = "html`"

// compileTemplates replaces the templates of a module by calls of createElement, so that browsers
// need neither their text nor a parser. The result equals the result of htm 3.1.
func compileTemplates(source string) (string, error) {
	s := &scanner{text: source}
	code, err := s.code(false)
	if err != nil {
		return "", fmt.Errorf("line %d: %w", 1+strings.Count(source[:s.at], "\n"), err)
	}
	if !s.found {
		return code, nil
	}
	return `import { h as ` + factory + ` } from "preact";` + "\n" + code, nil
}

// factory is the name of createElement in a compiled module.
const factory = "_createElement"

// scanner reads a module of JavaScript from left to right.
type scanner struct {
	text  string // the module
	at    int    // offset in text of the next byte to read
	found bool   // whether a template was found so far
}

// code returns the JavaScript at the present offset, with its templates compiled. If the argument
// "placeholder" is false, it reads to the end of the module. Otherwise, it reads to the brace that closes
// the placeholder, moves past this brace, and does not return it.
func (s *scanner) code(placeholder bool) (string, error) {
	var out strings.Builder
	for depth := 0; s.at < len(s.text); {
		rest := s.text[s.at:]
		switch {
		case rest[0] == ',' && depth == 0 && placeholder:
			return "", errors.New("a placeholder of a template has a comma outside of parentheses")
		case rest[0] == '}' && depth == 0 && placeholder:
			s.at++
			return out.String(), nil
		case strings.HasPrefix(rest, tag) && !endsWord(s.text[:s.at]):
			s.at += len(tag)
			compiled, err := s.template()
			if err != nil {
				return "", err
			}
			out.WriteString(compiled)
			continue
		case rest[0] == '`':
			if err := s.literal(&out); err != nil {
				return "", err
			}
			continue
		case strings.ContainsAny(rest[:1], "({["):
			depth++
		case strings.ContainsAny(rest[:1], ")}]"):
			depth--
		}
		n, err := tokenLength(rest, out.String())
		if err != nil {
			return "", err
		}
		out.WriteString(rest[:n])
		s.at += n
	}
	if placeholder {
		return "", errors.New("a placeholder of a template is not closed")
	}
	return out.String(), nil
}

// literal copies a template literal without the tag html, such as `${n} rows`.
func (s *scanner) literal(out *strings.Builder) error {
	for begin := s.at; ; {
		s.at++
		switch rest := s.text[s.at:]; {
		case rest == "":
			return errors.New("a template literal is not closed")
		case rest[0] == '\\':
			s.at++
		case rest[0] == '`':
			s.at++
			out.WriteString(s.text[begin:s.at])
			return nil
		case strings.HasPrefix(rest, "${"):
			s.at += 2
			out.WriteString(s.text[begin:s.at])
			code, err := s.code(true)
			if err != nil {
				return err
			}
			out.WriteString(code)
			s.at-- // the brace is the first byte of the next part
			begin = s.at
		}
	}
}

var (
	wordEnd = regexp.MustCompile(`[\w$]$`)
	// operand matches code before a slash that begins a regular expression.
	operand = regexp.MustCompile(`(^|[=(,:;!&|?{}\[+*%<>~^-]|=>|\breturn|\btypeof)\s*$`)
	regex   = regexp.MustCompile(`^/(\\.|\[(\\.|[^\]\\\n])*\]|[^/\\\[\n])+/`)
	comment = regexp.MustCompile(`^(?s)/\*.*?\*/`)
	quoted  = regexp.MustCompile(`^("(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*')`)
)

func endsWord(code string) bool { return wordEnd.MatchString(code) }

// tokenLength returns the length of the comment, text or regular expression at the beginning of the
// argument "rest", and 1 for any other code. A slash begins a regular expression or is a division,
// depending on the code in "before", which precedes "rest".
func tokenLength(rest, before string) (int, error) {
	find := func(length int, kind string) (int, error) {
		if length <= 0 {
			return 0, errors.New(kind + " is not closed")
		}
		return length, nil
	}
	switch {
	case strings.HasPrefix(rest, "//"):
		return find(strings.IndexByte(rest+"\n", '\n'), "a comment")
	case strings.HasPrefix(rest, "/*"):
		return find(len(comment.FindString(rest)), "a comment")
	case rest[0] == '"' || rest[0] == '\'':
		return find(len(quoted.FindString(rest)), "a text")
	case rest[0] == '/' && operand.MatchString(before[max(0, len(before)-40):]):
		return find(len(regex.FindString(rest)), "a regular expression")
	}
	return 1, nil
}
