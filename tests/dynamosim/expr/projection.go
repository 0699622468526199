package expr

import (
	"slices"

	"github.com/varvedb/varve/tests/dynamosim/value"
)

// ParseProjection parses a projection, which is a list of paths.
func ParseProjection(text string, s *Scope) ([]Path, error) {
	p, err := newParser(ProjectionText, text, s)
	if err != nil {
		return nil, err
	}
	var paths []Path
	for {
		path, err := p.path()
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
		if !p.accept(",") {
			break
		}
	}
	u := Update{}
	for _, path := range paths {
		u.actions = append(u.actions, action{path: path})
	}
	if err := u.checkOverlap(p); err != nil {
		return nil, err
	}
	return paths, p.end()
}

// Project returns an item that has only the given paths. Elements of lists stay in their order.
func Project(it value.Item, paths []Path) value.Item {
	parts := slices.Clone(paths)
	slices.SortStableFunc(parts, func(a, b Path) int { return slices.CompareFunc(a, b, compareSteps) })
	return projectFields(it, parts)
}

// projectFields returns a map that has only the given paths, which must be sorted.
func projectFields(it value.Item, paths []Path) (out value.Item) {
	for group := range groups(paths) {
		name := group[0][0].Name
		v := it.Get(name)
		if v == nil {
			continue
		}
		if part, ok := projectBelow(v, group); ok {
			out = out.Set(name, part)
		}
	}
	return out
}

// projectBelow returns the part of v that the paths of a group select. The first step of these paths has
// led to v.
func projectBelow(v *value.Value, group []Path) (value.Value, bool) {
	if len(group[0]) == 1 {
		return *v, true
	}
	rest := make([]Path, len(group))
	for i := range group {
		rest[i] = group[i][1:]
	}
	if v.Kind == value.Map {
		fields := projectFields(v.Fields, rest)
		return value.Value{Kind: value.Map, Fields: fields}, len(fields) > 0
	}
	list := value.Value{Kind: value.List}
	for below := range groups(rest) {
		e := below[0][0].in(v)
		if e == nil {
			continue
		}
		if part, ok := projectBelow(e, below); ok {
			list.Elems = append(list.Elems, part)
		}
	}
	return list, len(list.Elems) > 0
}

// groups iterates over groups of sorted paths. All paths of a group have the same first step.
func groups(paths []Path) func(yield func([]Path) bool) {
	return func(yield func([]Path) bool) {
		for len(paths) > 0 {
			n := 1
			for n < len(paths) && paths[n][0] == paths[0][0] {
				n++
			}
			if !yield(paths[:n]) {
				return
			}
			paths = paths[n:]
		}
	}
}
