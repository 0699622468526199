package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
)

// version is empty unless the linker sets it.
var version = ""

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// versionInfo is the answer of varve version. Commit and Date are empty if the program was
// built outside a clone.
type versionInfo struct {
	Version  string        `json:"version"`
	Commit   string        `json:"commit"`
	Date     string        `json:"date"` // date of the commit
	Modified bool          `json:"modified"`
	Go       string        `json:"go"`
	OS       string        `json:"os"`
	Arch     string        `json:"arch"`
	Formats  formatVersion `json:"formats"`
}

// formatVersion has the versions of the stored formats that this program writes.
type formatVersion struct {
	Embedded int `json:"embedded"`
	DynamoDB int `json:"dynamodb"`
}

func readVersion() versionInfo {
	v := versionInfo{
		Version: versionText(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Formats: formatVersion{Embedded: local.Format, DynamoDB: dynamo.Format},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func versionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Long: "Print the version. With -o json, it has the commit and its date, the version of Go, and the versions of the stored formats.",
		RunE: func(*cobra.Command, []string) error {
			if a.output == "json" {
				return writeJSON(a.out, readVersion())
			}
			_, err := fmt.Fprintln(a.out, "varve", versionText())
			return err
		},
	}
	a.outputFlag(cmd, "text", "json")
	return cmd
}
