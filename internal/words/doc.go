// Package words checks that the texts of this repository follow docs/style.md.
//
//	Go files      comments, string literals of several words, declared names
//	Markdown      prose, without code and generated parts
//	Terraform     descriptions
//	    │
//	    ▼
//	sentences ──▶ rules ──▶ findings ──▶ a table of counts per file and rule
//
// The main types and functions:
//
//   - [Check] and [CheckFile] return the findings in a tree or in one file.
//   - [Finding] is a line that breaks a rule, and [Rule] has the reason and the remedy.
//   - [Table] has the allowed number of findings by file and rule.
//
// These rules always hold:
//
//   - Code is exempt from the rules for prose: fenced and indented blocks, and code spans in
//     Markdown. In comments, quoted text is exempt, too.
//   - In test files and generated files, fewer rules apply: only comments are checked in the
//     former, and nothing in the latter.
//   - [Table.Compare] reports each count that is higher or lower than in the table.
//
// Check reads all files even if one cannot be read or parsed, and joins the errors.
package words
