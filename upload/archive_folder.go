package upload

import (
	"path/filepath"
	"regexp"
)

// Names of the files in the folder of an archive: see docs/archive.md.
var (
	archivePart     = regexp.MustCompile(`^part-[0-9a-f]{16}-[0-9]{5,}\.parquet$`)
	archiveDigests  = regexp.MustCompile(`^digests-[0-9a-f]{16}\.parquet$`)
	archiveManifest = regexp.MustCompile(`^manifest(-[0-9]+)?\.json$`)
)

// withoutArchiveIndexes returns the paths without the manifests and digests of archives, which have no readings. A file
// with such a name in another folder stays: only the folder of an archive has parts.
func withoutArchiveIndexes(paths []string) []string {
	isArchive := map[string]bool{}
	for _, path := range paths {
		if dir, name := filepath.Split(path); archivePart.MatchString(name) {
			isArchive[dir] = true
		}
	}
	var kept []string
	for _, path := range paths {
		dir, name := filepath.Split(path)
		if isArchive[dir] && (archiveDigests.MatchString(name) || archiveManifest.MatchString(name)) {
			continue
		}
		kept = append(kept, path)
	}
	return kept
}
