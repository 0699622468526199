package archive

import "context"

// FilesOf returns the keys of the files of an archive.
func (a *Archiver) FilesOf(ctx context.Context, r *Record) []string {
	m, err := a.files.manifest(ctx, r)
	if err != nil {
		return nil
	}
	keys := []string{}
	for _, f := range m.allFiles() {
		keys = append(keys, r.FilesDir()+f.Name)
	}
	return keys
}
