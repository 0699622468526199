// Command serve runs a DynamoDB emulator for Terraform's AWS provider until it is interrupted.
// All its data is in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/terraform/emulator"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listen := flag.String("listen", "127.0.0.1:8000", "`address` to listen on")
	flag.Parse()
	if err := serve(ctx, *listen, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // only main may exit
	}
}

func serve(ctx context.Context, address string, out io.Writer) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	backend, err := dynamotest.Dynoxide.Run()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer backend.Stop()
	e, err := emulator.New(backend.URL)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(out, "DynamoDB is emulated until Ctrl-C. In another terminal:\n\n"+
		"  export AWS_ENDPOINT_URL_DYNAMODB=http://%s AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local\n", l.Addr())
	srv := &http.Server{Handler: e.Endpoint(nil), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = srv.Close() // the process ends now
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
