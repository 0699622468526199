package config

import (
	"bytes"
	"errors"
	"fmt"
	"go.yaml.in/yaml/v3"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/varvedb/varve/internal/quote"
)

// file adds the settings in the configuration file as a layer.
func (l *loader) file(src Source) {
	if src.File == "" {
		return
	}
	data, err := os.ReadFile(src.File)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		if src.Required || !errors.Is(err, fs.ErrNotExist) {
			l.mistake(src.File, "", "%s", err)
		}
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	if src.Required && len(bytes.TrimSpace(data)) == 0 { // a program that failed to write the file may leave it empty
		l.mistake(src.File, "", "is empty: what should have written it may have failed")
		return
	}
	if err := dec.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			l.unreadable(src.File, err)
		}
		return
	}
	if len(doc.Content) > 0 {
		values := map[string]any{}
		l.node(src.File, "", doc.Content[0], values)
		l.load(values)
	}
	switch err := dec.Decode(&next); {
	case err == nil:
		l.mistake(fmt.Sprintf("%s:%d", src.File, next.Line), "", "a second document begins here, and only the first is read")
	case !errors.Is(err, io.EOF):
		l.unreadable(src.File, err)
	}
}

// unreadable reports an error of the YAML parser, with the line that the parser names.
func (l *loader) unreadable(file string, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if line, after, ok := strings.Cut(rest, ": "); ok {
			file, message = file+":"+line, after
		}
	}
	l.mistake(file, "", "%s", message)
}

// node collects the values of a YAML node and of the nodes below it.
func (l *loader) node(file, key string, n *yaml.Node, values map[string]any) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	origin := fmt.Sprintf("%s:%d", file, n.Line)
	null := n.Kind == yaml.ScalarNode && n.Tag == "!!null"
	switch {
	case null || n.Kind == yaml.MappingNode && len(n.Content) == 0:
		if key != "" && !isGroup(key) {
			l.known(origin, key) // an existing setting without a value has its default
		}
	case n.Kind == yaml.MappingNode && l.within[n]:
		l.mistake(origin, key, "contains itself")
	case n.Kind == yaml.MappingNode:
		l.within[n] = true
		l.mapping(file, key, n, values)
		delete(l.within, n)
	case n.Kind == yaml.ScalarNode && key == "":
		l.mistake(origin, "", "%s is not a configuration: write keys and values", quote.Text(n.Value))
	case n.Kind == yaml.ScalarNode:
		l.add(values, key, n.Value, origin)
	default:
		l.mistake(origin, key, "is a list, and one value is wanted")
	}
}

func (l *loader) mapping(file, key string, n *yaml.Node, values map[string]any) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := name.Value
		if key != "" {
			at = key + sep + name.Value
		}
		if _, there := l.origins[at]; there && l.origins[at] != "" && strings.HasPrefix(l.origins[at], file) {
			l.mistake(fmt.Sprintf("%s:%d", file, name.Line), at, "is set twice, first on line %s", strings.TrimPrefix(l.origins[at], file+":"))
			continue
		}
		l.origins[at] = fmt.Sprintf("%s:%d", file, name.Line)
		l.node(file, at, value, values)
	}
}
