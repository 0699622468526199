package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Finding is a line of a file that breaks a rule.
type Finding struct {
	File string
	Line int
	Rule string
	Text string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text)
}

func sortFindings(all []Finding) {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
}

func checkPhrases(file string, sentences []sentence) []Finding {
	var all []Finding
	for _, s := range sentences {
		text := strings.ToLower(s.text)
		for _, r := range rules {
			if r.pattern == nil || !containsAny(text, r.hints) || r.unless != nil && r.unless.MatchString(text) {
				continue
			}
			for _, at := range r.pattern.FindAllStringIndex(text, -1) {
				if r.except == nil || !r.except.MatchString(text[at[0]:]) {
					all = append(all, Finding{file, s.line, r.Name, excerpt(text, at[0], at[1])})
				}
			}
		}
	}
	return all
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

func checkLengths(file string, sentences []sentence) []Finding {
	var all []Finding
	for _, s := range sentences {
		if n := countWords(s.text); n > MaxSentence {
			all = append(all, Finding{file, s.line, LongSentence, fmt.Sprintf("%d words: %s", n, excerpt(s.text, 0, 40))})
		}
	}
	return all
}

func checkFirst(file string, sentences []sentence) []Finding {
	if len(sentences) == 0 {
		return nil
	}
	s := sentences[0]
	if n := countWords(s.text); n > MaxFirst {
		return []Finding{{file, s.line, LongFirst, fmt.Sprintf("%d words: %s", n, excerpt(s.text, 0, 40))}}
	}
	return nil
}

// excerpt returns the text around a match, on one line.
func excerpt(text string, from, to int) string {
	const around = 24
	from, to = max(0, from-around), min(len(text), to+around)
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
}

// countWords returns the number of words that contain a letter or a digit.
func countWords(text string) int {
	n := 0
	for _, w := range strings.Fields(text) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}
