// Command varve runs the Varve server, and has commands to write, query and manage its data. Run
// varve serve to start a server, and varve help to list the commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process immediately
	}()
	os.Exit(execute(ctx, os.Args[1:], streamsOf(os.Stdin, os.Stdout, os.Stderr)))
}
