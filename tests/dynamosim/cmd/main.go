// Command cmd serves the stand-in for DynamoDB that package dynamosim implements.
//
//	go run ./tests/dynamosim/cmd -listen 127.0.0.1:8000
//
// The program prints its address when it is ready. SIGINT and SIGTERM end it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

func main() {
	if err := serve(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dynamosim:", err)
		os.Exit(1) //nolint:forbidigo // main is the only function that may exit
	}
}

// serve runs the server until the process receives a signal.
func serve(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("dynamosim", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "the `address` to serve on")
	fastest := flags.Duration("fastest", 4*time.Millisecond, "the shortest latency")
	slowest := flags.Duration("slowest", 8*time.Millisecond, "the longest latency")
	limits := capacity.Amazon()
	unlimited := flags.Bool("unlimited", false, "throttle nothing")
	flags.DurationVar(&limits.SplitAfter, "split-after", limits.SplitAfter, "the heat after which a partition is split")
	delay := flags.Duration("table-delay", 0, "how long tables are created, changed and deleted")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options := dynamosim.Options{Limits: &limits, TableDelay: *delay}
	if *unlimited {
		options.Limits = nil
	}
	if *slowest > 0 {
		options.Latency = func() time.Duration { return *fastest + rand.N(*slowest-*fastest+1) }
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: dynamosim.New(options), ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(out, "http://"+l.Addr().String())
	context.AfterFunc(ctx, func() { _ = server.Close() }) // closes connections that clients still have open
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
