package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
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
	var verify bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "See whether the service can work with this configuration here", Args: cobra.NoArgs,
		Long: "See whether the service can work with this configuration, on this machine, with these credentials: the registry and the\n" +
			"table template, permissions, the clock, quotas; or the data folder and its damage; the address and the certificate. A service that runs already is asked for its conditions. It changes nothing. The exit code is 1 if something is wrong.",
		Example: "  varve doctor --config varve.json\n  varve doctor --store dynamodb -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			findings, err := examine(cmd.Context(), &loaded.Config, verify)
			if err != nil {
				return err
			}
			return a.report(append(findings, examineServer(cmd.Context(), a, &loaded.Config)...))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&verify, "verify", false, "read all that is stored, as varve verify does, rather than what takes seconds")
	a.outputFlag(cmd, "table", "json")
	return cmd
}

// report shows findings. It fails if something is wrong.
func (a *app) report(findings []dynamo.Finding) error {
	g := listing{header: []string{"check", "state", "found", "what to do"}}
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

func examine(ctx context.Context, c *config.Config, verify bool) ([]dynamo.Finding, error) {
	switch c.Store.Kind {
	case "dynamodb":
		short, cancel := context.WithTimeout(ctx, doctorWithin)
		defer cancel()
		options, err := dynamoOptions(ctx, c)
		if err != nil {
			return nil, err
		}
		options.Client = dynamodb.New(options.Client.Options(), func(o *dynamodb.Options) {
			o.Retryer = retry.AddWithMaxAttempts(o.Retryer, doctorAttempts)
		})
		policy := c.Policy()
		x := dynamo.Examination{Options: options, Expired: expiredBy(policy)}
		for _, class := range policy.Classes {
			x.Prefixes = append(x.Prefixes, policy.TablePrefix(class.Name))
		}
		findings := dynamo.Examine(short, x)
		if verify {
			findings = append(findings, examineTables(ctx, c))
		}
		return findings, nil
	case "local":
		return append(examineFolder(c.Store), examineDamage(ctx, c.Store.Dir, verify)...), nil
	}
	return []dynamo.Finding{{Check: "store", State: dynamo.Good, Found: "in memory only: there is nothing to check"}}, nil
}

// expiredBy returns what reports whether all that a table can have held has
// expired.
func expiredBy(p *retention.Policy) func(grid.Table) bool {
	return func(t grid.Table) bool {
		class, ok := p.ClassOfPrefix(t.Prefix)
		cutoff := retention.Cutoff(now(), class.Retention)
		return ok && !t.Month.End().After(cutoff) && !time.Unix(t.End, 0).After(cutoff)
	}
}

// examineFolder checks the data folder and its disk.
func examineFolder(s config.Store) []dynamo.Finding {
	f, err := local.Examine(s.Dir)
	folder := dynamo.Finding{Check: "data folder", State: dynamo.Good, Found: f.Dir}
	switch {
	case err != nil:
		folder.State, folder.Found = dynamo.Wrong, strings.TrimPrefix(err.Error(), "data folder ")
		folder.Remedy = "choose another folder with store.dir, or let the user that runs varve write to it"
		if errors.Is(err, store.ErrDamaged) {
			folder.Remedy = "mount what is missing, restore a backup, or save the rest with varve repair"
		}
	case !f.There:
		folder.Found += " is not there yet: varve serve makes it"
	case f.Held != nil:
		folder.Found = strings.TrimSuffix(strings.TrimPrefix(f.Held.Error(), "data folder "), ": stop it or choose another folder")
	}
	return []dynamo.Finding{folder, examineDisk(f.Disk, int64(s.MinFree))}
}

// examineServer checks that the server could listen. If it does already, the data
// folder says so.
func examineServer(ctx context.Context, a *app, c *config.Config) []dynamo.Finding {
	address := dynamo.Finding{Check: "address", State: dynamo.Good, Found: c.Server.Listen}
	l, err := listen(ctx, c.Server.Listen)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		address.State, address.Found = dynamo.NotChecked, err.Error()
		address.Remedy = "if that is not this service already, choose another with server.listen"
	}
	findings := []dynamo.Finding{address}
	if err != nil {
		findings = append(findings, examineRunning(ctx, a, c)...)
	}
	if !c.Server.Loopback() {
		findings = append(findings, dynamo.Finding{
			Check: "API keys", State: dynamo.NotChecked, Found: c.Server.Listen + " can be reached from other machines",
			Remedy: "varve serve listens there only if there are keys: varve keys list shows them",
		})
	}
	if c.Server.TLSCert != "" {
		cert := dynamo.Finding{Check: "certificate", State: dynamo.Good, Found: c.Server.TLSCert}
		if _, err := openCertificate(c.Server.TLSCert, c.Server.TLSKey, zerolog.Nop()); err != nil {
			cert.State, cert.Found, cert.Remedy = dynamo.Wrong, err.Error(), "set server.tls_cert and server.tls_key"
		}
		findings = append(findings, cert)
	}
	return findings
}

// askWithin is how long a service that runs may take to tell its conditions.
const askWithin = 5 * time.Second

// examineRunning asks the service that listens already for its conditions. Whoever
// has no key is told only whether it is ready.
func examineRunning(ctx context.Context, a *app, c *config.Config) []dynamo.Finding {
	options, err := a.access.options()
	if err != nil {
		return []dynamo.Finding{{Check: "service", State: dynamo.NotChecked, Found: err.Error()}}
	}
	asked, err := client.New(c.Server.URL(c.Server.Listen), append(options, client.WithRetries(0))...)
	if err != nil {
		return []dynamo.Finding{{Check: "service", State: dynamo.NotChecked, Found: err.Error()}}
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	r, err := asked.Ready(ctx)
	if err != nil {
		return []dynamo.Finding{{Check: "service", State: dynamo.NotChecked, Found: "no answer to /readyz: " + err.Error()}}
	}
	findings := []dynamo.Finding{{Check: "service", State: dynamo.Good, Found: strings.TrimSuffix("ready, version "+r.Version, ", version ")}}
	if !r.Ready {
		findings[0] = dynamo.Finding{Check: "service", State: dynamo.Wrong, Found: "not ready: " + r.Why, Remedy: "see its log"}
	}
	for _, cond := range r.Conditions {
		findings = append(findings, dynamo.Finding{
			Check: "condition " + cond.Name, State: dynamo.Wrong, Remedy: "see docs/operations.md, Monitoring",
			Found: "since " + cond.Since.Format(time.RFC3339) + ": " + cond.Message,
		})
	}
	return findings
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
