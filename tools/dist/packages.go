package main

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes the deb and the rpm of a binary.
func (r *release) writePackages(b binary, documents []document) error {
	kinds := []struct {
		name    string
		useradd string // the package of this command
		kind    interface {
			nfpm.Packager
			ConventionalFileName(info *nfpm.Info) string
		}
	}{{"deb", "passwd", deb.Default}, {"rpm", "shadow-utils", rpm.DefaultRPM}}
	for _, k := range kinds {
		info := nfpm.WithDefaults(r.packageInfo(b, documents))
		info.Depends = []string{k.useradd}
		if err := nfpm.PrepareForPackager(info, k.name); err != nil {
			return fmt.Errorf("%s of %s: %w", k.name, b.platform, err)
		}
		var buf bytes.Buffer
		if err := k.kind.Package(info, &buf); err != nil {
			return fmt.Errorf("%s of %s: %w", k.name, b.platform, err)
		}
		if err := r.write(k.kind.ConventionalFileName(info), buf.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) packageInfo(b binary, documents []document) *nfpm.Info {
	from := func(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }
	info := &nfpm.Info{
		Name: "varve", Arch: b.arch + b.arm, Platform: b.os, Version: r.version.packaged,
		Section: "database", Priority: "optional", Maintainer: "Varve contributors <maintainers@varvedb.invalid>",
		Description: "Store for device readings in time-bucketed tables\nVarve stores readings by event time and arrival, and drops whole tables.",
		Homepage:    "https://github.com/varvedb/varve", License: "Apache-2.0", MTime: r.time, DisableGlobbing: true,
	}
	contents := files.Contents{
		{Source: b.path, Destination: "/usr/bin/varve", FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		{Source: from("packaging/systemd/varve.service"), Destination: "/usr/lib/systemd/system/varve.service"},
		{Source: from("packaging/prometheus/varve.rules.yaml"), Destination: "/usr/share/varve/varve.rules.yaml"},
		{Source: from("packaging/varve.yaml"), Destination: "/etc/varve/varve.yaml", Type: files.TypeConfigNoReplace},
		{Source: from("LICENSE"), Destination: "/usr/share/doc/varve/copyright"},
		{Source: from("CHANGELOG.md"), Destination: "/usr/share/doc/varve/CHANGELOG.md"},
	}
	for _, d := range documents {
		contents = append(contents, &files.Content{Source: d.path, Destination: path.Join("/usr", d.installed())})
	}
	for _, c := range contents {
		if c.FileInfo == nil {
			c.FileInfo = &files.ContentFileInfo{Mode: 0o644}
		}
		c.FileInfo.Owner, c.FileInfo.Group, c.FileInfo.MTime = "root", "root", r.time
	}
	info.Contents = contents
	info.Scripts = nfpm.Scripts{
		PostInstall: from("packaging/scripts/postinstall.sh"),
		PreRemove:   from("packaging/scripts/preremove.sh"),
		PostRemove:  from("packaging/scripts/postremove.sh"),
	}
	info.Deb.Compression = "gzip"
	info.RPM.BuildHost, info.RPM.Compression = "localhost", "gzip"
	info.RPM.Summary = "Store for device readings in time-bucketed tables"
	return info
}
