package prometheus

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	// maxText is the maximum length of a query, and of all selectors of a request together.
	maxText = 128 << 10
	// maxTokens is the maximum number of tokens of a query, and of all selectors of a request
	// together. It also limits the depth of nested expressions. The time of the parser grows with
	// the square of the depth, and its stack with the depth. No context ends the parser, and an
	// exhausted stack ends the process.
	maxTokens = 5000
	// maxSelectors is the maximum number of selectors of a request. Each one is compared with all devices.
	maxSelectors = 100
)

// checkSize fails for texts that are too long to be parsed.
func checkSize(texts ...string) error {
	length, tokens := 0, 0
	for _, text := range texts {
		if length += len(text); length > maxText {
			return fmt.Errorf("it has more than %d bytes: send a shorter one", maxText)
		}
		lexer := parser.Lex(text)
		for item := (parser.Item{}); ; tokens++ {
			lexer.NextItem(&item)
			if item.Typ == parser.EOF || item.Typ == parser.ERROR {
				break // the parser reports the error
			}
			if tokens == maxTokens {
				return fmt.Errorf("it has more than %d operators, brackets and names: send a shorter one", maxTokens)
			}
		}
	}
	return nil
}

func (e *Engine) parse(text string) (parser.Expr, error) {
	err := checkSize(text)
	if err != nil {
		return nil, badParam("query", err)
	}
	expr, err := e.parser.ParseExpr(text)
	if err != nil {
		return nil, badParam("query", err)
	}
	return expr, nil
}

// matcherSets parses the selectors of a selection. Without a selector, one set matches everything.
func (e *Engine) matcherSets(match []string) ([][]*labels.Matcher, error) {
	if len(match) == 0 {
		return [][]*labels.Matcher{nil}, nil
	}
	err := checkSize(match...)
	if len(match) > maxSelectors {
		err = fmt.Errorf("%d selectors are more than %d: send fewer", len(match), maxSelectors)
	}
	if err != nil {
		return nil, badParam("match[]", err)
	}
	sets, err := e.parser.ParseMetricSelectors(match)
	if err != nil {
		return nil, badParam("match[]", err)
	}
	return sets, nil
}
