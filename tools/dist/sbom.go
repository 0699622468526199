package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes the list of the modules in a binary. The linker recorded these modules, so the
// list has no modules of tests and none of other platforms.
func (r *release) writeSBOM(b binary) error {
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		return fmt.Errorf("read build information of %s: %w", filepath.Base(b.path), err)
	}
	bom := cdx.NewBOM()
	purl := "pkg:golang/" + info.Main.Path + "@" + r.version.described
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: purl, Type: cdx.ComponentTypeApplication, Name: b.name, Version: r.version.described, PackageURL: purl,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	compiler := "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{{
		BOMRef: compiler, Type: cdx.ComponentTypeLibrary, Name: "stdlib", Version: info.GoVersion, PackageURL: compiler,
	}}
	uses := []string{compiler}
	for _, m := range info.Deps {
		c := component(m)
		components, uses = append(components, c), append(uses, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: purl, Dependencies: &uses}}
	var buf bytes.Buffer
	if err := cdx.NewBOMEncoder(&buf, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return fmt.Errorf("encode SBOM: %w", err)
	}
	return r.write(b.file(r.version.packaged)+".cdx.json", buf.Bytes())
}

func component(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl}
}
