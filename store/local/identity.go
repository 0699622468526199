package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
	"github.com/varvedb/varve/store/local/meta"
)

// Format is the version of the data folder that this program writes.
const Format = 2

const (
	// format1 is the whole content of the VARVE file in a folder of format 1.
	format1 = "varve embedded store, format 1\n"
	// format2 is the content of the VARVE file of format 2, without its checksum. pebble/ has a
	// copy.
	format2 = "varve embedded store, format 2\nstore %s\n"
	// fileMaking is the name of the VARVE file during the creation of a store. The file is renamed
	// to VARVE when all other parts of the store are durable.
	fileMaking = "VARVE.new"
)

// FileRestoring is the name of the VARVE file of a folder that is not restored yet. It is renamed to
// VARVE at the end of the restore. Only Options.Restoring opens such a folder.
const FileRestoring = "VARVE.restoring"

// folderState is the progress of a folder's creation or upgrade.
type folderState int

const (
	folderNew     folderState = iota // empty, or the creation of the store was interrupted
	folderFormat1                    // a store of format 1
	folderReady
)

func identityText(id meta.ID) string { return meta.Seal(fmt.Sprintf(format2, id)) }

// parseIdentity parses a VARVE file of format 2.
func parseIdentity(sealed string) (id meta.ID, err error) {
	text, err := meta.Unseal(sealed)
	if err != nil {
		return id, err
	}
	var hex string
	if _, err := fmt.Sscanf(text, format2, &hex); err != nil {
		return id, err
	}
	return meta.ParseID(hex)
}

// identify determines the kind of folder. It changes nothing on disk. Without Salvage, it fails unless
// the folder contains a whole store or is new. With Salvage, it records most missing parts as losses.
func (f *folder) identify() error {
	text, err := f.read(identityFile(f.restoring))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.identifyUnnamed()
	case err != nil:
		return f.failed(err)
	case text == format1:
		f.state = folderFormat1
		return f.checkParts()
	}
	if f.id, err = parseIdentity(text); err != nil {
		line, _, _ := strings.Cut(text, "\n")
		number, ok := strings.CutPrefix(line, "varve embedded store, format ")
		if n, notNumber := strconv.Atoi(number); ok && notNumber == nil && n > 2 {
			return fmt.Errorf("data folder %s: VARVE contains %q: this program reads formats 1 and 2: %w", f.dir, line, ErrFormat)
		}
		return f.replaceIdentity("VARVE is damaged: restore it from a backup")
	}
	f.state = folderReady
	return f.checkParts()
}

func identityFile(restoring bool) string {
	if restoring {
		return FileRestoring
	}
	return "VARVE"
}

// ErrFormat means that a folder has a format that this program cannot read.
var ErrFormat = errors.New("use the program that wrote it")

func (f *folder) identifyUnnamed() error {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return f.failed(err)
	}
	parts := 0
	for _, name := range names {
		if of, ok := meta.IsTemp(name); ok {
			name = of
		}
		switch name {
		case "journal", "pebble":
			empty, err := f.isEmpty(name)
			if err != nil {
				return f.failed(err)
			}
			if !empty {
				parts++
			}
		case "LOCK", "PID", "PID.new", "VARVE", fileMaking, "lost+found":
		case FileRestoring:
			return fmt.Errorf("data folder %s is not restored yet, because a restore was interrupted: delete it, and restore the backup again", f.dir)
		case catalogFile, copyOf(catalogFile), lostFile, copyOf(lostFile), rebuiltFile, rebuiltDir, asideDir, snapshotsDir, "salvage":
		default:
			return fmt.Errorf("data folder %s is not empty and not Varve's (it has %s in it): choose another folder", f.dir, name)
		}
	}
	if text, err := f.read(fileMaking); err == nil {
		if f.id, err = parseIdentity(text); err == nil {
			return nil // the interrupted creation of the store continues
		}
	}
	if parts > 0 {
		return f.replaceIdentity("VARVE is missing, but a store exists: restore it from a backup")
	}
	f.id = meta.NewID()
	return nil
}

// isEmpty reports whether a part of the data folder is empty. A part with only lost+found counts as empty,
// because it is a new disk.
func (f *folder) isEmpty(name string) (bool, error) {
	names, err := f.fs.List(f.path(name))
	return len(names) == 0 || len(names) == 1 && names[0] == "lost+found", err
}

// replaceIdentity restores the id of the store from pebble/VARVE or from the journal, if salvage is
// set. Otherwise it returns the problem as an error.
func (f *folder) replaceIdentity(problem string) error {
	if !f.salvage {
		return f.damaged(problem)
	}
	chain, _, _, err := journal.ReadChain(f.fs, f.path("journal"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.failed(err)
	}
	text, err := f.read("pebble/VARVE")
	switch {
	case err == nil:
		if f.id, err = parseIdentity(text); err != nil {
			return f.damaged("VARVE and pebble/VARVE are damaged: restore one from a backup")
		}
		f.state = folderReady
	case !errors.Is(err, fs.ErrNotExist):
		return f.failed(err)
	case !chain.Store.IsZero():
		f.id, f.state = chain.Store, folderReady
	default:
		f.state = folderFormat1 // format 1 has no id
	}
	f.losses = append(f.losses, Loss{File: "VARVE", Reason: "VARVE was missing or damaged, and is written again", Harmless: true})
	return f.checkParts()
}

// checkParts checks that the folders journal and pebble exist, and that pebble belongs to the store. With
// Salvage, one of the two may be missing, and is recorded as a loss.
func (f *folder) checkParts() error {
	var missing []string
	for _, part := range []string{"journal", "pebble"} {
		info, err := f.fs.Stat(f.path(part))
		switch {
		case errors.Is(err, fs.ErrNotExist) && part == "pebble" && f.beingRebuilt():
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, part)
		case err != nil:
			return f.failed(err)
		case !info.IsDir():
			return f.damaged(part + " is not a folder")
		}
	}
	if len(missing) == 2 || len(missing) > 0 && !f.salvage {
		return f.damaged(strings.Join(missing, " and ") + " is missing: mount its disk, or restore a backup")
	}
	if slices.Contains(missing, "journal") {
		f.losses = append(f.losses, Loss{File: "journal", Journal: true, Reason: "journal was missing: what was not in pebble yet is lost"})
	}
	if slices.Contains(missing, "pebble") {
		f.losses = append(f.losses, Loss{File: "pebble", Reason: "pebble was missing: what was not in the journal is lost", Items: true})
		return nil
	}
	if f.state == folderFormat1 || f.beingRebuilt() {
		return nil
	}
	return f.checkPebbleName()
}

// checkPebbleName checks that the database in pebble/ belongs to this store. With Salvage, pebble/VARVE
// may be missing or damaged.
func (f *folder) checkPebbleName() error {
	text, err := f.read("pebble/VARVE")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.failed(err)
	}
	id, bad := parseIdentity(text)
	if err == nil && bad == nil {
		if id != f.id {
			return f.damaged(fmt.Sprintf("pebble is of store %s and VARVE of store %s: restore the one that belongs here", id, f.id))
		}
		return nil
	}
	if !f.salvage {
		return f.damaged("pebble/VARVE is missing or damaged: mount the disk of pebble, or restore a backup")
	}
	f.losses = append(f.losses, Loss{File: "pebble/VARVE", Reason: "pebble/VARVE was missing or damaged, and is written again", Harmless: true})
	return nil
}

// damaged returns an error that wraps store.ErrDamaged and names the remedy.
func (f *folder) damaged(problem string) error {
	return f.failed(withRemedy(f.dir, fmt.Errorf("%s: %w", problem, store.ErrDamaged)))
}

// withRemedy adds the remedies to an error about damage.
func withRemedy(dir string, err error) error {
	return fmt.Errorf("%w: varve verify --data %s lists what is damaged, varve repair --data %s saves the rest", err, dir, dir)
}

// begin identifies the folder and creates the missing parts of a store. If a crash interrupts the creation,
// the next call continues it. VARVE is written last; see finish. In an existing store, begin deletes the
// snapshots and completes an interrupted rebuild.
func (f *folder) begin() error {
	if err := f.identify(); err != nil {
		return err
	}
	if err := f.fs.RemoveAll(f.path(snapshotsDir)); err != nil {
		return f.failed(err)
	}
	if f.state != folderNew {
		if err := f.finishRebuild(); err != nil {
			return f.failed(err)
		}
	}
	if f.state == folderFormat1 {
		if err := f.beginUpgrade(); err != nil {
			return err
		}
	}
	if f.state == folderNew {
		if err := f.write(fileMaking, identityText(f.id)); err != nil {
			return err
		}
	}
	for _, part := range []string{"journal", "pebble"} {
		if err := f.fs.MkdirAll(f.path(part), 0o755); err != nil {
			return f.failed(err)
		}
	}
	if err := meta.SyncFolder(f.fs, f.dir); err != nil {
		return f.failed(err)
	}
	if text, err := f.read("pebble/VARVE"); err != nil || text != identityText(f.id) {
		if err := f.write("pebble/VARVE", identityText(f.id)); err != nil {
			return err
		}
	}
	return f.write("PID", strconv.Itoa(os.Getpid())+"\n")
}

// beginUpgrade sets the id for a store of format 1: the id of an interrupted upgrade, or a new one.
func (f *folder) beginUpgrade() error {
	text, err := f.read("pebble/VARVE")
	if err == nil {
		if f.id, err = parseIdentity(text); err == nil {
			return nil
		}
		return f.failed(fmt.Errorf("pebble/VARVE: %w", err))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return f.failed(err)
	}
	f.id = meta.NewID()
	return nil
}

// finish marks the folder as a whole store, after all other parts are durable.
func (f *folder) finish() error {
	switch {
	case f.state == folderNew:
		if err := meta.Rename(f.fs, f.path(fileMaking), f.path("VARVE")); err != nil {
			return f.failed(err)
		}
	case f.state == folderFormat1 || len(f.losses) > 0:
		if err := f.write(identityFile(f.restoring), identityText(f.id)); err != nil {
			return err
		}
	}
	f.state = folderReady
	return nil
}
