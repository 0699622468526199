package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
)

// doctorAttempts is how often an examination sends a request, and doctorWithin
// how long it may take: somebody waits for it.
const (
	doctorAttempts = 2
	doctorWithin   = time.Minute
)

func doctorCommand(a *app) *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use: "doctor", Short: "See whether the service can work with this configuration here", Args: cobra.NoArgs,
		Long: "See whether the service can work with this configuration, on this machine, with these credentials: the registry and the\n" +
			"table template, permissions, the clock, quotas; or the data folder. It changes nothing. The exit code is 1 if something is wrong.",
		Example: "  varve doctor --config varve.json\n  varve doctor --store dynamodb -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			findings, err := examine(cmd.Context(), &loaded.Config)
			if err != nil {
				return err
			}
			return a.report(findings)
		},
	}
	f.add(cmd)
	a.outputFlag(cmd, "table", "json")
	return cmd
}

// report shows findings. It fails if something is wrong.
func (a *app) report(findings []dynamo.Finding) error {
	g := grid{header: []string{"check", "state", "found", "what to do"}}
	wrong := 0
	for _, f := range findings {
		g.add(f.Check, string(f.State), f.Found, f.Remedy)
		if f.State == dynamo.Wrong {
			wrong++
		}
	}
	if err := a.show(&g, findings); err != nil {
		return err
	}
	if wrong > 0 {
		fmt.Fprintf(a.err, "varve: %s of %d found something wrong\n", count(wrong, "check"), len(findings))
		return exitError(exitFailure)
	}
	return nil
}

func examine(ctx context.Context, c *config.Config) ([]dynamo.Finding, error) {
	switch c.Store.Kind {
	case "dynamodb":
		ctx, cancel := context.WithTimeout(ctx, doctorWithin)
		defer cancel()
		options, err := dynamoOptions(ctx, c)
		if err != nil {
			return nil, err
		}
		options.Client = dynamodb.New(options.Client.Options(), func(o *dynamodb.Options) {
			o.Retryer = retry.AddWithMaxAttempts(o.Retryer, doctorAttempts)
		})
		x := dynamo.Examination{Options: options}
		policy := c.Policy()
		for _, class := range policy.Classes {
			x.Prefixes = append(x.Prefixes, policy.TablePrefix(class.Name))
		}
		return dynamo.Examine(ctx, x), nil
	case "local":
		return examineFolder(c.Store), nil
	}
	return []dynamo.Finding{{Check: "store", State: dynamo.Good, Found: "in memory only: there is nothing to check"}}, nil
}

// examineFolder checks the data folder and its disk.
func examineFolder(s config.Store) []dynamo.Finding {
	dir := absolute(s.Dir)
	folder := dynamo.Finding{Check: "data folder", State: dynamo.Good, Found: dir}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		folder.Found += " is not there yet: varve serve makes it"
		dir = "."
	case err != nil:
		folder.State, folder.Found, folder.Remedy = dynamo.Wrong, err.Error(), "let the user that runs varve read it, or set store.dir"
	case !info.IsDir():
		folder.State, folder.Found, folder.Remedy = dynamo.Wrong, dir+" is not a folder", "set store.dir"
	}
	return []dynamo.Finding{folder, examineDisk(dir, int64(s.MinFree))}
}

func examineDisk(dir string, least int64) dynamo.Finding {
	disk := dynamo.Finding{Check: "disk", State: dynamo.Good}
	free, err := local.Free(dir)
	if err != nil {
		disk.State, disk.Found = dynamo.NotChecked, err.Error()
		return disk
	}
	disk.Found = bytesText(free) + " free"
	if free < least {
		disk.State, disk.Found = dynamo.Wrong, fmt.Sprintf("%s free, and %s are kept free (store.min_free): no readings are taken", bytesText(free), bytesText(least))
		disk.Remedy = "make room, or lower store.min_free"
	}
	return disk
}
