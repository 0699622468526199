package terraform_test

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

type policy struct{ Statement []statement }

type statement struct {
	Sid       string
	Effect    string
	Action    oneOrMore
	Resource  oneOrMore
	Condition map[string]map[string]oneOrMore
}

// oneOrMore is a JSON string or a list of strings. IAM accepts both.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(o))
}

func parsePolicy(text string) (p policy, err error) {
	if err = json.Unmarshal([]byte(text), &p); err == nil && len(p.Statement) == 0 {
		err = fmt.Errorf("a policy without statements: %s", text)
	}
	return p, err
}

// request is an action on a resource, with the context of the request.
type request struct {
	action   string
	resource string // ARN
	context  map[string][]string
}

// allowed decides as IAM does. It denies a request if a statement denies it, or if no statement
// allows it.
func allowed(policies []policy, r request) (bool, error) {
	is := false
	for _, p := range policies {
		for _, s := range p.Statement {
			fits, err := s.fits(r)
			if err != nil {
				return false, err
			}
			if fits && s.Effect == "Deny" {
				return false, nil
			}
			is = is || fits && s.Effect == "Allow"
		}
	}
	return is, nil
}

func (s *statement) fits(r request) (bool, error) {
	is := slices.ContainsFunc(s.Action, func(pattern string) bool { return wild(strings.ToLower(pattern), strings.ToLower(r.action)) }) &&
		slices.ContainsFunc(s.Resource, func(pattern string) bool { return wild(pattern, r.resource) })
	for operator, keys := range s.Condition {
		for key, values := range keys {
			holds, err := condition(operator, values, r.context[key])
			if err != nil {
				return false, err
			}
			is = is && holds
		}
	}
	return is, nil
}

// condition reports whether the condition of a statement is true for the values in a request.
func condition(operator string, wanted, has []string) (bool, error) {
	switch operator {
	case "StringEquals", "Bool":
		return len(has) == 1 && slices.Contains(wanted, has[0]), nil
	case "ForAnyValue:StringEquals":
		return slices.ContainsFunc(has, func(v string) bool { return slices.Contains(wanted, v) }), nil
	case "ForAllValues:StringNotEquals": // also true if the request has no values
		return !slices.ContainsFunc(has, func(v string) bool { return slices.Contains(wanted, v) }), nil
	}
	return false, fmt.Errorf("condition %s: unknown: add it to this test", operator)
}

// wild reports whether a text matches a pattern of IAM. In a pattern, * stands for any text,
// including slashes, and ? stands for one character.
func wild(pattern, s string) bool {
	text := regexp.QuoteMeta(pattern)
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\*`, `.*`), `\?`, `.`)
	return regexp.MustCompile(`(?s)\A` + text + `\z`).MatchString(s)
}

// tableARN returns the ARN of a table in the planned account and region.
func tableARN(name string) string {
	return "arn:aws:dynamodb:" + region + ":" + account + ":table/" + name
}

// policiesOf returns the planned policies by the last part of their names, such as router, and the
// faults. The policies of the router, the rotator and the reader must exist.
func policiesOf(p *planned) (map[string]policy, []string) {
	var wrong []string
	all := map[string]policy{}
	for _, r := range p.resources("aws_iam_policy") {
		text, ok := r.AttributeValues["policy"].(string)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s is not known when it is planned", r.Address))
			continue
		}
		parsed, err := parsePolicy(text)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", r.Address, err))
			continue
		}
		name, _ := r.AttributeValues["name"].(string)
		all[name[strings.LastIndexByte(name, '-')+1:]] = parsed
	}
	for _, part := range []string{"router", "rotator", "reader"} {
		if _, ok := all[part]; !ok {
			wrong = append(wrong, "there is no policy "+part)
		}
	}
	return all, wrong
}

// tablePatterns returns the patterns of the names of the tables that a policy allows to create.
func tablePatterns(p policy) (patterns []string) {
	for _, s := range p.Statement {
		if s.Effect == "Allow" && slices.Contains(s.Action, "dynamodb:CreateTable") {
			for _, r := range s.Resource {
				patterns = append(patterns, path.Base(r))
			}
		}
	}
	return patterns
}
