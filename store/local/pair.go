package local

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
)

// A pair is a small file of the data folder in two copies, with a checksum and a generation in the
// first line. The second copy is written when the first one is durable. So at least one copy is
// whole after any crash. If one copy is damaged, the other one is used.

// pairTable is the CRC table for the checksums of both copies.
var pairTable = crc32.MakeTable(crc32.Castagnoli)

func copyOf(name string) string { return name + ".copy" }

// writePair writes both copies, durably.
func (f *folder) writePair(name string, generation uint64, body string) error {
	text := fmt.Sprintf("varve %s %d %08x\n%s", name, generation, crc32.Checksum([]byte(body), pairTable), body)
	if err := f.write(name, text); err != nil {
		return err
	}
	return f.write(copyOf(name), text)
}

// readPair returns the newest whole copy. It returns generation 0 if both are missing, and fails
// if copies exist but none is whole.
func (f *folder) readPair(name string) (generation uint64, body string, err error) {
	var errs []error
	for _, copied := range []string{name, copyOf(name)} {
		g, b, err := f.readCopy(copied, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		case g > generation:
			generation, body = g, b
		}
	}
	if generation > 0 {
		return generation, body, nil
	}
	return 0, "", errors.Join(errs...)
}

func (f *folder) readCopy(file, name string) (generation uint64, body string, err error) {
	in, err := f.fs.Open(f.path(file))
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	text, err := io.ReadAll(in)
	if err != nil {
		return 0, "", fmt.Errorf("read %s: %w", f.path(file), plain(err))
	}
	head, body, _ := strings.Cut(string(text), "\n")
	var sum uint32
	if _, err := fmt.Sscanf(head, "varve "+name+" %d %x", &generation, &sum); err != nil || sum != crc32.Checksum([]byte(body), pairTable) || generation == 0 {
		return 0, "", fmt.Errorf("%s is damaged", f.path(file))
	}
	return generation, body, nil
}
