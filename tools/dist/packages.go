package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

func (r *release) writePackages(b binary, documents []document) error {
	kinds := []struct {
		name    string
		useradd string // the package that has the command useradd
		kind    interface {
			nfpm.Packager
			ConventionalFileName(info *nfpm.Info) string
		}
	}{{"deb", "passwd", deb.Default}, {"rpm", "shadow-utils", rpm.DefaultRPM}}
	for _, k := range kinds {
		described, err := r.packageInfo(b, documents)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(described)
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

type packaged struct {
	summary, description string
	config               string // path of the configuration file after installation
	contents             files.Contents
}

var packages = map[string]packaged{
	mainProgram: {
		summary:     "Store for device readings in time-bucketed tables",
		description: "Varve stores readings by event time and arrival, and drops whole tables.",
		config:      "/etc/varve/varve.yaml",
		contents: files.Contents{
			{Source: "packaging/prometheus/varve.rules.yaml", Destination: "/usr/share/varve/varve.rules.yaml"},
			{Source: "CHANGELOG.md", Destination: "/usr/share/doc/varve/CHANGELOG.md"},
		},
	},
	agentProgram: {
		summary:     "Collector of device readings for a Varve server",
		description: "The agent keeps readings on disk until a Varve server has confirmed them.",
		config:      "/etc/varve-agent/agent.yaml",
		contents: files.Contents{
			{Source: "docs/agent.md", Destination: "/usr/share/doc/varve-agent/agent.md"},
		},
	},
}

func (r *release) packageInfo(b binary, documents []document) (*nfpm.Info, error) {
	p := packages[b.name]
	info := &nfpm.Info{
		Name: b.name, Arch: b.arch + b.arm, Platform: b.os, Version: r.version.packaged,
		Section: "database", Priority: "optional", Maintainer: "Varve contributors <maintainers@varvedb.invalid>",
		Description: p.summary + "\n" + p.description,
		Homepage:    "https://github.com/varvedb/varve", License: "Apache-2.0", MTime: r.time, DisableGlobbing: true,
	}
	contents := files.Contents{
		{Source: "packaging/systemd/" + b.name + ".service", Destination: "/usr/lib/systemd/system/" + b.name + ".service"},
		{Source: "packaging/" + b.name + ".yaml", Destination: p.config, Type: files.TypeConfigNoReplace},
		{Source: "LICENSE", Destination: "/usr/share/doc/" + b.name + "/copyright"},
	}
	for _, c := range p.contents {
		contents = append(contents, &files.Content{Source: c.Source, Destination: c.Destination})
	}
	for _, c := range contents {
		c.Source = filepath.Join(r.root, filepath.FromSlash(c.Source))
	}
	for _, d := range documents {
		contents = append(contents, &files.Content{Source: d.path, Destination: path.Join("/usr", d.installed())})
	}
	for _, c := range contents {
		c.FileInfo = &files.ContentFileInfo{Mode: 0o644}
	}
	contents = append(contents, &files.Content{Source: b.path, Destination: "/usr/bin/" + b.name, FileInfo: &files.ContentFileInfo{Mode: 0o755}})
	for _, c := range contents {
		c.FileInfo.Owner, c.FileInfo.Group, c.FileInfo.MTime = "root", "root", r.time
	}
	info.Contents = contents
	info.Deb.Compression = "gzip"
	info.RPM.BuildHost, info.RPM.Compression = "localhost", "gzip"
	info.RPM.Summary = p.summary
	return info, r.addScripts(info)
}

// addScripts adds the scripts that run when a package is installed or removed.
func (r *release) addScripts(info *nfpm.Info) error {
	scripts := map[string]*string{
		"postinstall.sh": &info.Scripts.PostInstall, "preremove.sh": &info.Scripts.PreRemove, "postremove.sh": &info.Scripts.PostRemove,
	}
	for name, to := range scripts {
		text, err := os.ReadFile(filepath.Join(r.root, "packaging", "scripts", name))
		if err != nil {
			return err
		}
		*to = filepath.Join(r.work, info.Name+"-"+name)
		if err := os.WriteFile(*to, bytes.ReplaceAll(text, []byte("@NAME@"), []byte(info.Name)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
