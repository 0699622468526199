package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// builder makes the embedded files from the readable ones.
type builder struct {
	source string            // absolute path of the folder with the readable files
	short  map[string]string // short names of the variables of style.css
}

// build returns the embedded files by name.
func build(source string) (map[string][]byte, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	styles, err := os.ReadFile(filepath.Join(source, "style.css"))
	if err != nil {
		return nil, err
	}
	b := &builder{source: source, short: shortNames(string(styles))}
	all := map[string][]byte{}
	for name, entry := range map[string]string{"app.js": "app.js", "theme.js": "theme.js", "uplot.js": "lib/uplot/uPlot.js", "style.css": "style.css"} {
		if all[name], err = b.bundle(entry); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range []string{"index.html", "icon.svg", "NOTICE.txt"} {
		if all[name], err = os.ReadFile(filepath.Join(source, name)); err != nil {
			return nil, err
		}
		if name != "NOTICE.txt" {
			all[name] = lineBreaks.ReplaceAll(all[name], nil)
		}
	}
	return all, nil
}

var lineBreaks = regexp.MustCompile(`\s*\n\s*`)

// bundle returns a module or a style sheet with all that it imports, minified. An import of uplot.js
// remains, because charts load this file later.
func (b *builder) bundle(entry string) ([]byte, error) {
	define := map[string]string{"FEAT_TIME": "true"}
	for _, feature := range unusedFeatures {
		define["FEAT_"+feature] = "false"
	}
	mangle := ""
	if strings.HasPrefix(entry, "lib/uplot/") {
		mangle = "^_." // esbuild shortens names with a leading underscore, which uPlot uses for private members
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(b.source, filepath.FromSlash(entry))},
		Bundle:      true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, MangleProps: mangle,
		Alias: map[string]string{"preact": filepath.Join(b.source, "lib", "preact.js")}, Define: define,
		External: []string{"./uplot.js"},
		Plugins:  []api.Plugin{{Name: "console", Setup: b.setup}},
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), "\n"))
	}
	if len(result.OutputFiles) != 1 {
		return nil, fmt.Errorf("the bundle has %d files", len(result.OutputFiles))
	}
	return result.OutputFiles[0].Contents, nil
}

// unusedFeatures lists the features of uPlot that bundle turns off. The console draws lines and points
// itself, and has a legend of its own.
var unusedFeatures = []string{"LEGEND", "POINTS", "PATHS", "PATHS_LINEAR", "PATHS_STEPPED", "PATHS_BARS", "PATHS_SPLINE", "PATHS_SPLINE2", "JOIN"}

// setup changes files before esbuild reads them.
func (b *builder) setup(esbuild api.PluginBuild) {
	load := func(filter string, loader api.Loader, change func(text string) (string, error)) {
		esbuild.OnLoad(api.OnLoadOptions{Filter: filter}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			text, err := os.ReadFile(args.Path)
			if err != nil {
				return api.OnLoadResult{}, err
			}
			changed, err := change(string(text))
			if err != nil {
				return api.OnLoadResult{}, fmt.Errorf("%s: %w", args.Path, err)
			}
			return api.OnLoadResult{Contents: &changed, Loader: loader}, nil
		})
	}
	load(`/lib/uplot/uPlot\.js$`, api.LoaderJS, func(text string) (string, error) {
		if strings.Count(text, legendOff) != 1 {
			return "", errors.New("the legend was not found")
		}
		return features.ReplaceAllString(strings.Replace(text, legendOff, legendEmpty, 1), ""), nil
	})
	load(`/lib/uplot/.*\.js$`, api.LoaderJS, func(text string) (string, error) {
		// The declarations of the features are removed, because the option Define sets their values.
		return features.ReplaceAllString(text, ""), nil
	})
	load(`/lib/uplot/.*\.css$`, api.LoaderCSS, func(text string) (string, error) {
		return legend.ReplaceAllString(text, ""), nil
	})
	load(`/lib/preact\.js$`, api.LoaderJS, func(text string) (string, error) {
		if strings.Count(text, parser) != 1 {
			return "", errors.New("the parser of templates was not found")
		}
		return strings.Replace(text, parser, strings.Replace(parser, "=", "=/* @__PURE__ */", 1), 1), nil
	})
	load(`\.js$`, api.LoaderJS, func(text string) (string, error) { return compileTemplates(b.shorten(text)) })
	load(`\.css$`, api.LoaderCSS, func(text string) (string, error) { return b.shorten(text), nil })
}

// legendOff is the line in which uPlot creates its legend, and legendEmpty replaces that line. When the
// pointer moves, uPlot sets a property of the legend, even if the legend is turned off. So the legend must
// remain an object.
const (
	legendOff   = "const legend     = FEAT_LEGEND && (self.legend = assign({}, legendOpts, opts.legend));"
	legendEmpty = "const legend = self.legend = {};"
)

// parser is the beginning of htm's function html, which parses templates in the browser. Compiled
// templates do not call it. The method setup marks the expression that creates the function as pure, so
// that esbuild can remove it.
const parser = ",fe=function(e){var n=se.get(this);"

var (
	features = regexp.MustCompile(`import \{[^}]*\} from '\.\.?/feats';`)
	legend   = regexp.MustCompile(`(?m)^(\.u-(legend|inline|off)[^{]*|\.u-cursor-pt[^{]*)\{[^}]*\}`)
	variable = regexp.MustCompile(`--[a-z][a-z0-9-]*`)
	declared = regexp.MustCompile(`(--[a-z][a-z0-9-]*):`)
)

// shortNames returns a short name for each variable of a style sheet. It numbers the variables in the order
// of the file.
func shortNames(styles string) map[string]string {
	short := map[string]string{}
	for _, m := range declared.FindAllStringSubmatch(styles, -1) {
		if _, ok := short[m[1]]; !ok {
			short[m[1]] = "--" + strconv.FormatInt(int64(10+len(short)), 36)
		}
	}
	return short
}

// shorten replaces the names of variables of style sheets with their short names.
func (b *builder) shorten(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if short, ok := b.short[name]; ok {
			return short
		}
		return name
	})
}

// removeOthers deletes the files of a folder that are not in a list.
func removeOthers(dir string, files map[string][]byte) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if _, ok := files[filepath.ToSlash(name)]; ok {
			return nil
		}
		return os.Remove(path)
	})
}
