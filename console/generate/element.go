package main

import (
	"errors"
	"regexp"
	"strings"
)

// element is a part of a template: <p class="quiet">…</p>.
type element struct {
	name     string   // as code: "p" in quotes, or a component
	props    []string // code of each property, as a member of an object
	children []string // code of each child
}

func (e *element) code() string {
	props := "0" // means no properties, as null does, and is shorter
	if len(e.props) > 0 {
		props = "{" + strings.Join(e.props, ",") + "}"
	}
	return factory + "(" + strings.Join(append([]string{e.name, props}, e.children...), ",") + ")"
}

// template compiles a template and moves past its last backquote. If the template has one child, such as
// an element or a text, the result is this child. Otherwise it is an array.
func (s *scanner) template() (string, error) {
	s.found = true
	open := []*element{{}} // elements without an end tag so far; the first one stands for the whole template
	for {
		inner := open[len(open)-1]
		text := s.until("<", "${", "`")
		if err := addText(inner, text); err != nil {
			return "", err
		}
		switch {
		case s.skip("`"):
			if len(open) > 1 {
				return "", errors.New("a template lacks a closing tag of " + inner.name)
			}
			if len(inner.children) == 1 {
				return "(" + inner.children[0] + ")", nil
			}
			return "[" + strings.Join(inner.children, ",") + "]", nil
		case s.skip("${"):
			code, err := s.code(true)
			if err != nil {
				return "", err
			}
			inner.children = append(inner.children, code)
		case s.skip("</"):
			if len(open) == 1 {
				return "", errors.New("a template has a closing tag without an element")
			}
			s.until(">")
			s.skip(">")
			open = open[:len(open)-1]
			open[len(open)-1].children = append(open[len(open)-1].children, inner.code())
		case s.skip("<"):
			e, closed, err := s.openTag()
			if err != nil {
				return "", err
			}
			if !closed {
				open = append(open, e)
				continue
			}
			inner.children = append(inner.children, e.code())
		default:
			return "", errors.New("a template is not closed")
		}
	}
}

var margin = regexp.MustCompile(`^\s*\n\s*|\s*\n\s*$`)

// addText adds a text as a child. Like htm, it leaves out white space at an end of the text if this white
// space has a line break.
func addText(to *element, text string) error {
	if text = margin.ReplaceAllString(text, ""); text == "" {
		return nil
	}
	if strings.ContainsRune(text, '\\') {
		return errors.New("a text of a template has a backslash: use a placeholder")
	}
	to.children = append(to.children, "`"+text+"`")
	return nil
}

// openTag reads an element up to the end of its opening tag. The result "closed" reports whether the tag
// ends with />. Such an element has no children.
func (s *scanner) openTag() (e *element, closed bool, err error) {
	e = &element{}
	if s.skip("${") {
		if e.name, err = s.code(true); err != nil {
			return nil, false, err
		}
	} else {
		e.name = `"` + s.match(name) + `"`
	}
	for {
		s.match(space)
		switch {
		case s.skip("/>"):
			return e, true, nil
		case s.skip(">"):
			return e, false, nil
		case s.skip("...${"):
			code, err := s.code(true)
			if err != nil {
				return nil, false, err
			}
			e.props = append(e.props, "..."+code)
		default:
			key := s.match(name)
			if key == "" {
				return nil, false, errors.New("a tag of a template is not closed: " + e.name)
			}
			value, err := s.value()
			if err != nil {
				return nil, false, err
			}
			if rest := s.text[s.at:]; rest == "" || !strings.ContainsAny(rest[:1], " \t\n/>") {
				return nil, false, errors.New("the value of the attribute " + key + " is not followed by a space")
			}
			e.props = append(e.props, `"`+key+`":`+value)
		}
	}
}

var (
	name     = regexp.MustCompile(`^[\w:-]+`)
	space    = regexp.MustCompile(`^\s+`)
	anyQuote = regexp.MustCompile(`^["']`)
	unquoted = regexp.MustCompile(`^[^\s"'<>=$` + "`" + `/]+`)
)

// value reads the value of an attribute. An attribute without a value has the value true.
func (s *scanner) value() (string, error) {
	if !s.skip("=") {
		return "true", nil
	}
	if s.skip("${") {
		return s.code(true)
	}
	quote := s.match(anyQuote)
	if quote == "" {
		text := s.match(unquoted)
		if text == "" {
			return "", errors.New("an attribute of a template has no value")
		}
		return `"` + text + `"`, nil
	}
	var parts []string
	for {
		if text := s.until("${", quote, "`"); text != "" {
			parts = append(parts, "`"+text+"`")
		}
		switch {
		case s.skip(quote):
			if len(parts) == 1 {
				return parts[0], nil // a value that is only a placeholder keeps its type, and does not become a string
			}
			return strings.Join(append([]string{`""`}, parts...), "+"), nil
		case s.skip("${"):
			code, err := s.code(true)
			if err != nil {
				return "", err
			}
			parts = append(parts, "("+code+")")
		default:
			return "", errors.New("a value in a template is not closed")
		}
	}
}

// skip moves past a text and returns true, if the rest begins with the text.
func (s *scanner) skip(text string) bool {
	if !strings.HasPrefix(s.text[s.at:], text) {
		return false
	}
	s.at += len(text)
	return true
}

// match moves past the part of the rest that an expression matches, and returns this part.
func (s *scanner) match(of *regexp.Regexp) string {
	found := of.FindString(s.text[s.at:])
	s.at += len(found)
	return found
}

// until moves to the next of several texts, or to the end. It returns the text up to there.
func (s *scanner) until(stops ...string) string {
	end := len(s.text)
	for _, stop := range stops {
		if i := strings.Index(s.text[s.at:end], stop); i >= 0 {
			end = s.at + i
		}
	}
	text := s.text[s.at:end]
	s.at = end
	return text
}
