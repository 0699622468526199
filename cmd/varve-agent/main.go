// Command varve-agent runs the agent as a small program of its own. The program varve has the same
// command, but its store and its AWS clients take more memory than a small device has.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/varvedb/varve/agent/command"
)

// version is empty unless the linker sets it.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process immediately
	}()
	os.Exit(command.Main(ctx, versionText(), os.Args[1:])) //nolint:forbidigo // only main exits
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
