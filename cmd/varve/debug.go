package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/rs/zerolog"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/internal/acceptlog"
)

// profiles serves profiles of the process on a loopback address.
type profiles struct {
	srv  *http.Server
	done chan struct{} // closed when srv no longer serves
}

// serveProfiles serves profiles in the background. It returns nil if server.debug_listen is empty.
func serveProfiles(ctx context.Context, c *config.Config, log zerolog.Logger) (*profiles, error) {
	if c.Server.DebugListen == "" {
		return nil, nil
	}
	l, err := listen(ctx, c.Server.DebugListen, "--debug-listen")
	if err != nil {
		return nil, err
	}
	p := &profiles{
		srv:  &http.Server{Handler: profileRoutes(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet(log)},
		done: make(chan struct{}),
	}
	go p.serveUntilStop(acceptlog.New(l, log, now), log)
	log.Info().Str("address", profileURL(l.Addr())).Msg("profiles served")
	return p, nil
}

func profileURL(at net.Addr) string { return "http://" + at.String() + "/debug/pprof/" }

func (p *profiles) serveUntilStop(l net.Listener, log zerolog.Logger) {
	defer close(p.done)
	if err := p.srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		log.Error().Err(err).Msg("profiles ended")
	}
}

// stop ends running profiles. It does nothing on a nil receiver.
func (p *profiles) stop() error {
	if p == nil {
		return nil
	}
	err := p.srv.Close()
	<-p.done
	return err
}

// profileRoutes returns a handler of the standard paths, which go tool pprof and go tool trace
// expect.
func profileRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
