package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// templates are the input of TestCompileTemplates_EqualsHTM, which also defines the names in them.
var templates = []string{
	"html`<p class=\"quiet\" hidden>${text} and <b>more</b></p>`",
	"html`<p>\n  first  \n  <b>a</b> ${n} <i />\n</p>`",
	"html`<${Part} ...${props} key=${n} a=x b=\"\" c=\"a${n}b\" d='${n}' e=${{ a: [n, 2] }}>${[1, 2].map((x) => html`<li key=${x}>${x > 1 ? `n ${x} ${\"`\"}` : html`one`}</li>`)}<//>`",
	"html`${text}${n > 1 && html`<br/>`}`",
	"html`<a href=\"/ui?x=1\" onClick=${() => { return '}'; }}>x</a><b>y</b>`",
	"html`a text`",
	"html`<svg viewBox=\"0 0 1 1\"><path d=${`M${n} 0`} /></svg>`",
	"html`<p>${/[`}/\"]+/.test(text) /* a } */ ? n / 2 / 3 : \"`\"}</p>`",
	"[`no ${n} <template> ${`in ${text}`}`]",
}

// TestCompileTemplates_EqualsHTM evaluates each template in Node.js, with htm and compiled, and
// compares the results.
func TestCompileTemplates_EqualsHTM(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip("node is missing")
		}
		t.Fatal(err)
	}
	lib, err := filepath.Abs(filepath.Join("..", "source", "lib", "preact.js"))
	if err != nil {
		t.Fatal(err)
	}
	list := "[" + strings.Join(templates, ",\n") + "]"
	compiled, err := compileTemplates(list)
	if err != nil {
		t.Fatal(err)
	}
	imports, code, _ := strings.Cut(compiled, "\n")
	if strings.Contains(code, tag) {
		t.Fatalf("templates are left in\n%s", code)
	}
	script := strings.Replace(imports, `"preact"`, `"`+lib+`"`, 1) + `
import { html } from "` + lib + `";
import { deepStrictEqual } from "node:assert";
const text = "a text", n = 2, props = { z: 1 }, Part = () => null;
const plain = (v) => Array.isArray(v) ? v.map(plain) : typeof v === "function" ? "function " + v : v && v.props ? { type: plain(v.type), key: v.key, props: Object.fromEntries(Object.entries(v.props).map(([k, p]) => [k, plain(p)])) } : v;
const want = ` + list + `, got = ` + code + `;
want.forEach((w, i) => deepStrictEqual(plain(got[i]), plain(w), "template " + i));
if (JSON.stringify(plain(want)).length < 500) throw new Error("too little was compared");
`
	file := filepath.Join(t.TempDir(), "compare.mjs")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), node, file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, script)
	}
}

// TestCompileTemplates_RefusesMistakes compiles templates and scripts with mistakes, which must be
// refused. htm accepts some of these templates, with another meaning.
func TestCompileTemplates_RefusesMistakes(t *testing.T) {
	for code, want := range map[string]string{
		"\n\nhtml`<p>`":        "line 3: a template lacks a closing tag",
		"html`</p>`":           "without an element",
		"html`<p a=${1}px />`": "not followed by a space",
		"html`<p a= />`":       "has no value",
		"html`<p>${a, b}</p>`": "a comma outside",
		"html`<p>\\n</p>`":     "a backslash",
		"html`<p":              "a tag of a template is not closed",
		"html`<p a=\"b":        "a value in a template is not closed",
		"html`<p>${a":          "a placeholder of a template is not closed",
		"html`a":               "a template is not closed",
		"x = `a":               "a template literal is not closed",
		"x = \"a\n\"":          "a text is not closed",
		"x = /a":               "a regular expression is not closed",
		"/* a":                 "a comment is not closed",
	} {
		if _, err := compileTemplates(code); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", code, err, want)
		}
	}
}
