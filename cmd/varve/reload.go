package main

import (
	"crypto/tls"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
)

// levelSwitch is the level of a log, which can change while the log is in use. It implements
// zerolog.Sampler.
type levelSwitch struct{ level atomic.Int32 }

func newLevelSwitch(level string) *levelSwitch {
	s := &levelSwitch{}
	s.set(level)
	return s
}

// Sample reports whether an event of a level is logged.
func (s *levelSwitch) Sample(level zerolog.Level) bool { return int32(level) >= s.level.Load() }

// set sets the level. The level is valid, because the configuration was checked.
func (s *levelSwitch) set(level string) {
	parsed, err := zerolog.ParseLevel(level)
	if err != nil {
		parsed = zerolog.InfoLevel
	}
	s.level.Store(int32(parsed))
}

// reloader rereads the configuration of a running service on SIGHUP. It applies the log level and
// the certificate, and logs the settings that need a restart.
type reloader struct {
	running config.Loaded // the configuration in use
	reread  func() (*config.Loaded, error)
	level   *levelSwitch
	log     zerolog.Logger

	mu   sync.Mutex
	cert *certificate // the certificate in use; nil without TLS
}

// watch reloads the configuration on each SIGHUP until the returned function is called. After watch
// returns, the signal no longer ends the process, even after a call of that function.
func (r *reloader) watch() (stop func()) {
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-signals:
				r.reload()
			case <-ended:
				return
			}
		}
	})
	return func() {
		// Ignore further signals. Otherwise a SIGHUP during the rest of the shutdown would end the
		// process.
		signal.Ignore(syscall.SIGHUP)
		close(ended)
		wg.Wait()
	}
}

// secure returns the TLS configuration of the listener. If TLS is not configured, it returns nil.
func (r *reloader) secure(c *config.Config, log zerolog.Logger) (*tls.Config, error) {
	if c.Server.TLSCert == "" {
		return nil, nil
	}
	cert, err := openCertificate(c.Server.TLSCert, c.Server.TLSKey, log)
	if err != nil {
		return nil, usageError{err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cert = cert
	return cert.config(), nil
}

// The settings that a reload applies.
var reloadable = []string{"log.level", "server.tls_cert", "server.tls_key"}

// reload rereads the configuration and applies the changes that need no restart. If the
// configuration has a mistake, nothing changes.
func (r *reloader) reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	loaded, err := r.reread()
	if err != nil {
		r.log.Error().Err(err).Msg("configuration not reloaded")
		return
	}
	warnOfVariables(loaded, r.log)
	restart := config.Changed(&r.running.Config, &loaded.Config)
	tlsKept := (loaded.Server.TLSCert == "") == (r.cert == nil)
	restart = slices.DeleteFunc(restart, func(key string) bool {
		return slices.Contains(reloadable, key) && (key == "log.level" || tlsKept)
	})
	var reloaded []string
	if r.cert != nil && tlsKept {
		if err := r.cert.reload(loaded.Server.TLSCert, loaded.Server.TLSKey); err != nil {
			r.log.Error().Err(err).Msg("certificate not reloaded on request")
		} else {
			r.running.Server.TLSCert, r.running.Server.TLSKey = loaded.Server.TLSCert, loaded.Server.TLSKey
			reloaded = append(reloaded, "server.tls_cert", "server.tls_key")
		}
	}
	r.level.set(loaded.Log.Level)
	r.running.Log.Level = loaded.Log.Level
	reloaded = append(reloaded, "log.level")
	r.moveOrigins(loaded, reloaded)
	answer := r.log.Sample(nil) // logged at any level, because the operator expects an answer
	answer.Info().Strs("reloaded", reloaded).Strs("needs_restart", restart).Str("level", loaded.Log.Level).Msg("configuration reloaded")
}

// moveOrigins sets the origins of the reloaded settings. The caller must have locked r.mu.
func (r *reloader) moveOrigins(loaded *config.Loaded, reloaded []string) {
	for _, key := range reloaded {
		delete(r.running.Origins, key)
		if origin, ok := loaded.Origins[key]; ok {
			r.running.Origins[key] = origin
		}
	}
}

// settings returns the settings in use, without secrets.
func (r *reloader) settings() []wire.SettingBody {
	r.mu.Lock()
	defer r.mu.Unlock()
	values := r.running.PublicValues()
	list := make([]wire.SettingBody, len(values))
	for i, v := range values {
		list[i] = wire.SettingBody(v)
	}
	return list
}

// warnOfVariables logs the variables that begin like settings but have no effect.
func warnOfVariables(loaded *config.Loaded, log zerolog.Logger) {
	for _, w := range loaded.Warnings {
		log.Warn().Str("variable", w.Origin).Str("remedy", w.Message).Msg("variable ignored")
	}
}
