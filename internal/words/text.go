package words

import (
	"regexp"
	"strings"
	"unicode"
)

type sentence struct {
	text string
	line int
}

// block is one unit of text on one or more lines: a paragraph, a list item or a table cell.
type block struct {
	text string
	line int
}

// blocks joins lines into blocks.
type blocks struct {
	all  []block
	open bool // whether the next line may belong to the last block
}

// add appends a line to the open block. If no block is open, it opens one.
func (b *blocks) add(text string, line int) {
	if !b.open {
		b.all, b.open = append(b.all, block{line: line}), true
		b.all[len(b.all)-1].text = text
		return
	}
	b.all[len(b.all)-1].text += "\n" + text
}

func (b *blocks) close() { b.open = false }

// single adds a line as a separate block.
func (b *blocks) single(text string, line int) {
	b.close()
	b.add(text, line)
	b.close()
}

var (
	listItem = regexp.MustCompile(`^\s*([-*+]|\d+\.)\s+`)
	quoted   = regexp.MustCompile("`[^`]*`|\"[^\"\n]*\"")
	codeSpan = regexp.MustCompile("``[^`]+``|`[^`]+`")
	link     = regexp.MustCompile(`!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])`)
	rowRule  = regexp.MustCompile(`^[\s|:-]+$`)
)

// placeholder replaces quoted text and code. It has two letters, because a single letter before a full
// stop is an abbreviation.
const placeholder = "xx"

// commentSentences returns the sentences of a comment without its markers. It leaves out indented
// text, which is code, except for lists.
func commentSentences(text string, line int) []sentence {
	var b blocks
	list := false
	for i, l := range strings.Split(text, "\n") {
		indented := strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "  ")
		switch {
		case strings.TrimSpace(l) == "":
			b.close()
			list = false
		case indented && !strings.HasPrefix(l, "\t") && listItem.MatchString(l), !indented && strings.HasPrefix(l, "- "):
			b.close()
			b.add(listItem.ReplaceAllString(l, ""), line+i)
			list = true
		case indented && !list:
			b.close()
		case strings.HasPrefix(l, "# "):
			b.single(l[2:], line+i)
		default:
			b.add(l, line+i)
		}
	}
	for i := range b.all {
		b.all[i].text = quoted.ReplaceAllString(b.all[i].text, placeholder)
	}
	return b.sentences()
}

// markdownSentences returns the sentences of Markdown prose. It leaves out code and the parts
// that terraform-docs generates. A heading, a list item or a table cell never forms a sentence
// with the text after it.
func markdownSentences(text string) []sentence {
	var b blocks
	fence, generated := "", false
	for i, l := range strings.Split(text, "\n") {
		t := strings.TrimLeft(strings.TrimSpace(l), "> ")
		switch {
		case fence != "":
			if strings.HasPrefix(t, fence) {
				fence = ""
			}
		case strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~"):
			fence = t[:3]
			b.close()
		case strings.HasPrefix(t, "<!--"):
			generated = strings.Contains(t, "BEGIN_TF_DOCS")
			b.close()
		case generated:
		case t == "":
			b.close()
		case strings.HasPrefix(t, "#"):
			b.single(strings.TrimLeft(t, "# "), i+1)
		case strings.HasPrefix(t, "|"):
			addCells(&b, t, i+1)
		case listItem.MatchString(l):
			b.close()
			b.add(listItem.ReplaceAllString(l, ""), i+1)
		case !b.open && strings.HasPrefix(l, "    "):
		default:
			b.add(t, i+1)
		}
	}
	for i := range b.all {
		t := codeSpan.ReplaceAllString(b.all[i].text, placeholder)
		b.all[i].text = strings.ReplaceAll(link.ReplaceAllString(t, "$1"), "**", "")
	}
	return b.sentences()
}

func addCells(b *blocks, row string, line int) {
	if rowRule.MatchString(row) {
		return
	}
	row = codeSpan.ReplaceAllString(row, placeholder)
	for _, cell := range strings.Split(strings.Trim(row, "|"), "|") {
		b.single(strings.TrimSpace(cell), line)
	}
}

// unreleased returns the part of a changelog about the next version. The earlier parts are
// history and are not checked.
func unreleased(text string) string {
	first := true
	var kept []string
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "## ") {
			if !first {
				break
			}
			first = false
		}
		kept = append(kept, l)
	}
	return strings.Join(kept, "\n")
}

func (b *blocks) sentences() []sentence {
	var all []sentence
	for _, one := range b.all {
		all = append(all, splitSentences(one.text, one.line)...)
	}
	return all
}

// splitSentences splits a text at full stops, question and exclamation marks.
func splitSentences(text string, line int) []sentence {
	var all []sentence
	from, begun := 0, line
	end := func(to int) {
		if t := strings.TrimSpace(text[from:to]); t != "" {
			skipped := strings.Count(text[from:from+strings.Index(text[from:to], t)], "\n")
			all = append(all, sentence{t, begun + skipped})
		}
		begun += strings.Count(text[from:to], "\n")
		from = to
	}
	for i, r := range text {
		if (r == '.' || r == '?' || r == '!') && endsSentence(text, i) {
			end(i + 1)
		}
	}
	end(len(text))
	return all
}

var abbreviation = regexp.MustCompile(`(^|[\s(])(e\.g|i\.e|etc|cf|vs|no|[A-Za-z])$`)

// endsSentence reports whether the punctuation mark at i ends a sentence. Closing parentheses, quotes
// or emphasis may follow the mark, and then space or the end of the text. The full stop of an
// abbreviation does not end a sentence.
func endsSentence(text string, i int) bool {
	rest := strings.TrimLeft(text[i+1:], `)"'*_”`)
	if rest != "" && !unicode.IsSpace(rune(rest[0])) {
		return false
	}
	return text[i] != '.' || !abbreviation.MatchString(text[max(0, i-8):i])
}
