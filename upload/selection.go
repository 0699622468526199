package upload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/fileerr"
)

// Selection sets the streams, devices and formats of sources.
type Selection struct {
	Stream  string    // stream of all files; if empty, the file's folder or the measurements of line protocol name it
	Device  string    // device of readings without a device; if empty, the name of their file is the device
	Format  string    // a name of FormatNames; if empty, each file's name decides
	Stdin   io.Reader // content of the source that the argument "-" names
	Exclude []string  // files that are skipped in folders
}

// Sources returns the sources that the arguments name. Each argument is a file, a folder, or "-" for
// standard input. A file that is named twice is one source, because a checkpoint has one entry for it.
func (s *Selection) Sources(args []string) ([]Source, error) {
	var sources []Source
	named := map[string]bool{}
	for _, arg := range args {
		if arg == "-" {
			src, err := s.stdinSource()
			if err != nil {
				return nil, err
			}
			sources = append(sources, src)
			continue
		}
		paths, err := s.files(arg)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			src, err := s.fileSource(path)
			if err != nil {
				return nil, err
			}
			if !named[src.key()] {
				sources = append(sources, src)
			}
			named[src.key()] = true
		}
	}
	return sources, nil
}

// files returns a file, or the files of readings below a folder. The folder may be an archive. Links to files are followed, and links to folders
// are not, except arg itself.
func (s *Selection) files(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, fileerr.Short(err)
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	var paths []string
	root := arg + string(filepath.Separator) // with a separator, WalkDir follows a link
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), "..") {
			return fs.SkipDir // a version of a volume of Kubernetes, whose files have links
		}
		if _, _, ok := formatOf(path); !ok || d.IsDir() || s.excludes(path) {
			return nil
		}
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular():
			paths = append(paths, path)
		case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(d.Name(), "."):
			return nil // the lock of an editor
		case err != nil:
			return fileerr.Short(err)
		}
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: no file ends in %s, %s", arg, parquetExtension, wire.FileExtensions())
	}
	slices.Sort(paths)
	return withoutArchiveIndexes(paths), err
}

// excludes reports whether a file is one of Exclude, even under another name.
func (s *Selection) excludes(path string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(s.Exclude, func(name string) bool {
		other, err := os.Stat(name)
		return err == nil && os.SameFile(info, other)
	})
}

func (s *Selection) fileSource(path string) (Source, error) {
	src := Source{Path: path, Stream: s.Stream, device: s.Device, deviceGiven: s.Device != ""}
	info, err := os.Stat(path)
	if err != nil {
		return src, fileerr.Short(err)
	}
	src.size, src.mtime = info.Size(), info.ModTime().UnixNano()
	var ok bool
	src.format, src.compression, ok = formatOf(path)
	if s.Format == FormatParquet {
		src.format, src.compression = wire.NDJSON, parquetForm
	} else if s.Format != "" {
		if src.format, err = parseFormat(s.Format); err != nil {
			return src, err
		}
	} else if !ok {
		return src, varve.InvalidParam("format", "required for %s, whose name has no known extension: use %s", path, FormatNames())
	}
	if src.device == "" {
		src.device = baseName(path)
	}
	if src.Stream == "" && src.format == wire.Line {
		return src, nil // each line names its stream
	}
	if src.Stream == "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return src, err
		}
		src.Stream = filepath.Base(filepath.Dir(abs))
		if err := varve.ValidateName("stream", src.Stream); err != nil {
			return src, varve.InvalidParam("stream", "required for %s, whose folder's name is not valid: %s", path, err)
		}
	}
	return src, checkStream(src.Stream)
}

func (s *Selection) stdinSource() (Source, error) {
	src := Source{Path: "standard input", stdin: s.Stdin, Stream: s.Stream, device: s.Device, deviceGiven: s.Device != ""}
	if s.Stream == "" && s.Format != wire.Line.Name() {
		return src, varve.InvalidParam("stream", "required for standard input: name a stream and a format")
	}
	if s.Format == "" {
		return src, varve.InvalidParam("format", "required for standard input: use %s", wire.BodyFormatNames())
	}
	if s.Format == FormatParquet {
		return src, varve.InvalidParam("format", "parquet cannot be read from standard input: name a file")
	}
	var err error
	if src.format, err = parseFormat(s.Format); err != nil {
		return src, err
	}
	if src.Stream == "" {
		return src, nil
	}
	return src, checkStream(src.Stream)
}

func checkStream(stream string) error {
	if err := varve.ValidateName("stream", stream); err != nil {
		return varve.InvalidParam("path.stream", "%s", err)
	}
	return nil
}
