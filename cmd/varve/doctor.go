package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store/dynamo"
)

func doctorCommand(a *app) *cobra.Command {
	var f configFlags
	var verify bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the configuration, permissions and data folder", Args: cobra.NoArgs,
		Long: "Check whether the service can run with this configuration, on this machine and with these\n" +
			"credentials. On DynamoDB, it checks the registry, the table template, permissions, the clock\n" +
			"and quotas. With the embedded store, it checks the data folder for damage. It also checks the\n" +
			"archive, the address and the certificate, and the conditions of a service that already runs.\n\n" +
			"It changes nothing: files and objects that test an archive are deleted at once. The exit code is 1 if something is wrong.",
		Example: "  varve doctor --config varve.json\n  varve doctor --store dynamodb -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			findings, err := kindOf(&loaded.Config).examine(cmd.Context(), &loaded.Config, verify)
			if err != nil {
				return err
			}
			findings = append(findings, examineArchive(cmd.Context(), &loaded.Config)...)
			return reportFindings(a, append(findings, append(examineServer(cmd.Context(), a, &loaded.Config), examineBroker(cmd.Context(), &loaded.Config)...)...))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&verify, "verify", false, "read all stored data, as varve verify does, instead of a quick check")
	a.outputFlag(cmd, "table", "json")
	return cmd
}

// reportFindings prints findings. It fails if one of them is a problem.
func reportFindings(a *app, findings []dynamo.Finding) error {
	g := listing{header: []string{"check", "state", "found", "what to do"}}
	wrong := 0
	for _, f := range findings {
		g.add(f.Check, string(f.State), f.Found, f.Remedy)
		if f.State == dynamo.Wrong {
			wrong++
		}
	}
	if err := a.show(&g, map[string]any{"findings": findings}); err != nil {
		return err
	}
	if wrong > 0 {
		fmt.Fprintf(a.err, "varve: %s of %d found something wrong\n", count(wrong, "check"), len(findings))
		return exitError(exitFailure)
	}
	return nil
}

// examineServer checks that the server could listen at its address, and that its certificate is usable.
// If the address is in use, it also returns the conditions of the service there. If other machines can
// reach the address, it adds a reminder about API keys.
func examineServer(ctx context.Context, a *app, c *config.Config) []dynamo.Finding {
	address := dynamo.Finding{Check: "address", State: dynamo.Good, Found: c.Server.Listen}
	l, err := listen(ctx, c.Server.Listen, "--listen")
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		address.State, address.Found = dynamo.NotChecked, err.Error()
		address.Remedy = "if that is not this service already, choose another with server.listen"
	}
	findings := []dynamo.Finding{address}
	if err != nil {
		running := examineRunning(ctx, a, c)
		if running[0].State != dynamo.NotChecked {
			findings[0] = dynamo.Finding{Check: "address", State: dynamo.Good, Found: c.Server.Listen + " is in use by the service"}
		}
		findings = append(findings, running...)
	}
	if !c.Server.Loopback() {
		findings = append(findings, dynamo.Finding{
			Check: "API keys", State: dynamo.NotChecked, Found: c.Server.Listen + " can be reached from other machines",
			Remedy: "varve serve listens there only with API keys: varve keys list shows them",
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

// askWithin limits the wait for the conditions of a running service, and for an MQTT broker.
const askWithin = 5 * time.Second

// examineRunning returns the conditions of the running service. Without a key, the service reports only
// whether it is ready.
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
