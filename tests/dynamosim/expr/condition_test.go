package expr_test

import (
	"testing"

	"github.com/varvedb/varve/tests/dynamosim/expr"
)

// TestParseCondition_RefusesUnfinished parses conditions that end within parentheses. Each must give an error.
func TestParseCondition_RefusesUnfinished(t *testing.T) {
	for _, text := range []string{"(", "((", "(a", "(:a", "(((a)", "size(", "a = ("} {
		if _, err := expr.ParseCondition("ConditionExpression", text, &expr.Scope{}); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
