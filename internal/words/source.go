package words

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Check returns the findings in all files of a tree, in order.
func Check(tree fs.FS) ([]Finding, error) {
	paths, err := files(tree)
	if err != nil {
		return nil, err
	}
	const workers = 4
	found, failures := make([][]Finding, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(paths); i += workers {
				text, err := fs.ReadFile(tree, paths[i])
				if err == nil {
					var more []Finding
					more, err = CheckFile(paths[i], text)
					found[w] = append(found[w], more...)
				}
				failures[w] = errors.Join(failures[w], err)
			}
		})
	}
	wg.Wait()
	var all []Finding
	for _, f := range found {
		all = append(all, f...)
	}
	sortFindings(all)
	return all, errors.Join(failures...)
}

// files lists the files that CheckFile can check. It excludes hidden folders and the folders
// testdata, bin and data.
func files(tree fs.FS) ([]string, error) {
	var paths []string
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != "." && strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "data" {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(p) {
		case ".go", ".md", ".tf":
			paths = append(paths, p)
		}
		return nil
	})
	return paths, err
}

// CheckFile returns the findings in one file. The extension of the name selects the checks.
func CheckFile(name string, text []byte) ([]Finding, error) {
	switch path.Ext(name) {
	case ".go":
		return checkGo(name, text)
	case ".md":
		return checkMarkdown(name, string(text)), nil
	case ".tf":
		return checkTerraform(name, string(text)), nil
	}
	return nil, nil
}

func checkMarkdown(name, text string) []Finding {
	if path.Base(name) == "CHANGELOG.md" {
		text = unreleased(text)
	}
	sentences := markdownSentences(text)
	return append(checkPhrases(name, sentences), checkLengths(name, sentences)...)
}

var description = regexp.MustCompile(`(?m)^\s*description\s*=\s*"((?:[^"\\]|\\.)*)"`)

func checkTerraform(name, text string) []Finding {
	var all []Finding
	for _, at := range description.FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:at[2]], "\n")
		all = append(all, checkPhrases(name, splitSentences(text[at[2]:at[3]], line))...)
	}
	return all
}
