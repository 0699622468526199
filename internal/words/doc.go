// Package words checks that the texts of this repository follow docs/style.md.
//
//	Go files      comments, string literals of several words, declared names
//	Markdown      prose, without code and generated parts
//	Terraform     descriptions
//	    │
//	    ▼
//	sentences ──▶ rules ──▶ findings ──▶ a table of counts per file and rule
//
// The counts are compared with a table in the repository. A count must not exceed the one in the
// table.
//
// Code is exempt from the rules for prose: fenced and indented blocks, and code spans in
// Markdown. In comments, quoted text is exempt, too.
package words
