package backup

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/varvedb/varve/objectstore"
)

// Place is the folder or bucket with the backups of one store. Several processes may call its
// methods. Only one of them at a time makes a backup or deletes old ones.
type Place struct {
	objects objectstore.Store
	prefix  string // prefix of all keys; empty, or ends with a slash
	now     func() time.Time
	// Progress, if not nil, is called with two sizes in bytes: the files done so far, and the expected
	// total.
	Progress func(done, total int64)
}

// NewPlace returns the place whose keys begin with a prefix.
func NewPlace(o objectstore.Store, prefix string, now func() time.Time) *Place {
	if prefix != "" {
		prefix += "/"
	}
	return &Place{objects: o, prefix: prefix, now: now}
}

// String names the place for users.
func (p *Place) String() string { return path.Join(p.objects.Location(), p.prefix) }

func (p *Place) failed(err error) error { return fmt.Errorf("%s: %w", p, err) }

// list returns the sizes of the objects whose keys begin with a prefix.
func (p *Place) list(ctx context.Context, prefix string) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := p.objects.List(ctx, p.prefix+prefix, func(o objectstore.Object) error {
		sizes[strings.TrimPrefix(o.Key, p.prefix)] = o.Size
		return nil
	})
	if err != nil {
		return nil, p.failed(err)
	}
	return sizes, nil
}

func (p *Place) put(ctx context.Context, key string, body []byte) error {
	return p.objects.PutNew(ctx, p.prefix+key, body)
}

func (p *Place) delete(ctx context.Context, key string) error {
	return p.objects.Delete(ctx, p.prefix+key)
}

// counter adds up sizes in bytes, and reports them as progress.
type counter struct {
	done, total int64
	report      func(done, total int64)
}

func (c *counter) add(n int64) {
	c.done += n
	if c.report != nil && n > 0 {
		c.report(c.done, c.total)
	}
}

// localPath reports whether a path of a manifest stays in the data folder.
func localPath(name string) bool {
	return name != "" && filepath.IsLocal(filepath.FromSlash(name))
}
