package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
)

// maxNamed is the maximum number of lines about damage that a finding has.
const maxNamed = 5

// The checks of damage, and their remedies.
const (
	checkRecorded    = "recorded damage"
	checkQuick       = "quick verify"
	checkAll         = "verify"
	remedyRecorded   = "list all of it with varve verify, accept it with varve repair --apply"
	remedyFound      = "list all of it with varve verify, save the rest with varve repair --apply"
	remedyUnreadable = "put back DAMAGE or DAMAGE.copy from a backup"
	sayQuickGood     = "nothing was found in journal, catalog, footers and indexes: varve verify reads all blocks"
)

// examineDamage checks a data folder for damage. If a server has the folder open, examineDamage
// reads only the damage that is recorded, and does not disturb the server.
func examineDamage(ctx context.Context, c *config.Config, all bool) []dynamo.Finding {
	f, err := local.Examine(c.Store.Dir)
	if err != nil && !errors.Is(err, store.ErrDamaged) || !f.There || f.New {
		return nil // examineFolder has reported the error, or that no store exists
	}
	findings := []dynamo.Finding{recordedDamage(f.Dir)}
	if f.Held != nil {
		return append(findings, dynamo.Finding{
			Check: checkQuick, State: dynamo.NotChecked, Found: "a server has the folder open",
			Remedy: "let it verify its store: " + verifyByServer(c),
		})
	}
	name, good := checkQuick, sayQuickGood
	check := local.CheckFolderQuickly
	if all {
		name, good = checkAll, "no damage was found"
		check = func(ctx context.Context, dir string, report func(local.Problem)) error {
			return local.CheckFolder(ctx, dir, 0, report)
		}
	}
	var found []string
	err = check(ctx, f.Dir, func(p local.Problem) { found = append(found, damageText(damageOfProblem(&p))) })
	return append(findings, damageFinding(name, good, found, err))
}

func examineTables(ctx context.Context, c *config.Config) dynamo.Finding {
	sampled := sampleFlags{n: sampleSize}
	sampled.choose()
	var found []string
	done, err := verifyTables(ctx, c, verifyOptions{sampled: sampled, found: func(d wire.Damage) { found = append(found, damageText(d)) }})
	return damageFinding(checkAll, "no damage was found. "+sampledText(done, sampled.seed), found, err)
}

func damageFinding(check, good string, found []string, err error) dynamo.Finding {
	switch {
	case len(found) > 0:
		return dynamo.Finding{Check: check, State: dynamo.Wrong, Found: firstOf(found), Remedy: remedyFound}
	case err != nil:
		return dynamo.Finding{Check: check, State: dynamo.NotChecked, Found: err.Error()}
	}
	return dynamo.Finding{Check: check, State: dynamo.Good, Found: good}
}

// recordedDamage reads the losses that are recorded in the folder.
func recordedDamage(dir string) dynamo.Finding {
	r, err := local.ReadRecorded(dir)
	if err != nil {
		return dynamo.Finding{Check: checkRecorded, State: dynamo.Wrong, Found: err.Error(), Remedy: remedyUnreadable}
	}
	var lines []string
	for i := range r.Losses {
		if line := r.Losses[i].File + ": " + lossLine(&r.Losses[i]); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if !r.Rebuilt.IsZero() {
		lines = append(lines, "items of the registry may be older than they were: check API keys, rules and holds")
	}
	if len(r.Unrecounted) > 0 {
		lines = append(lines, "roll-ups are lost and not recounted")
	}
	if len(lines) == 0 {
		return dynamo.Finding{Check: checkRecorded, State: dynamo.Good, Found: "none"}
	}
	return dynamo.Finding{Check: checkRecorded, State: dynamo.Wrong, Found: firstOf(lines), Remedy: remedyRecorded}
}

func damageText(d wire.Damage) string {
	text := d.Place + ": " + d.Problem
	if len(d.Losses) > 0 {
		text += " (" + strings.Join(d.Losses, "; ") + ")"
	}
	return text
}

// firstOf joins the first few lines, and counts the others.
func firstOf(lines []string) string {
	more := ""
	if n := len(lines) - maxNamed; n > 0 {
		lines, more = lines[:maxNamed], fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(lines, "; ") + more
}
