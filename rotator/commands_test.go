package rotator_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/timefmt"
)

// commands are the commands of scripts by name. testdata/README describes them.
var commands = map[string]func(s *script, args []string) []string{
	"policy":   (*script).setPolicy,
	"at":       (*script).setClock,
	"write":    (*script).send,
	"read":     (*script).find,
	"plan":     (*script).plan,
	"run":      (*script).runOnce,
	"hourly":   (*script).hourly,
	"kill":     (*script).kill,
	"tables":   (*script).list,
	"schedule": (*script).schedule,
	"health":   (*script).health,
	"hold":     (*script).hold,
	"release":  (*script).release,
	"restore":  (*script).restore,
	"fail":     (*script).fail,
	"heal":     (*script).heal,
	"foreign":  (*script).foreign,
	"bound":    (*script).bound,
}

func (s *script) duration(text string) time.Duration {
	d, err := timefmt.ParseDuration(text)
	if err != nil {
		s.fatal("%s", err)
	}
	return d
}

func (s *script) setPolicy(args []string) []string {
	ret := &retention.Policy{Prefix: "varve", Streams: map[string]retention.Stream{}}
	p := rotator.Policy{Grid: grid.Policy{Future: 24 * time.Hour}, Retention: ret}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		var err error
		switch key {
		case "drop":
			p.Drop = true
		case "keep":
			ret.Classes = append(ret.Classes, retention.Class{Name: retention.DefaultClass, Retention: s.duration(value)})
		case "class": // class=short:10d adds a class short, and a stream short that uses it
			name, keep, _ := strings.Cut(value, ":")
			ret.Classes = append(ret.Classes, retention.Class{Name: name, Retention: s.duration(keep)})
			ret.Streams[name] = retention.Stream{Class: name}
		case "grace":
			p.Grace = s.duration(value)
		case "seal":
			p.Seal = s.duration(value)
		case "cap":
			p.MaxDrops, err = strconv.Atoi(value)
		case "recent":
			p.Grid.Recent, err = strconv.Atoi(value)
		case "ahead":
			p.MonthsAhead, err = strconv.Atoi(value)
		case "future":
			p.Grid.Future = s.duration(value)
		case "doubling":
			p.Grid.Doubling = s.duration(value)
		default:
			s.fatal("unknown setting %s", key)
		}
		if err != nil {
			s.fatal("%s", err)
		}
	}
	s.start(p)
	return nil
}

func (s *script) setClock(args []string) []string {
	at := s.time(args[0])
	if at.Before(s.clock) {
		s.fatal("time goes forwards only")
	}
	s.clock = at
	return nil
}

// send implements: write STREAM DEVICE TIME
func (s *script) send(args []string) []string {
	r, v := s.write(args[0], args[1], s.time(args[2]), s.time(args[2]).Unix())
	if v.Outcome != varve.Stored {
		return []string{v.String()}
	}
	if got, _ := s.read(args[0], args[1]); !slices.ContainsFunc(got, func(g varve.Reading) bool { return g.Equal(&r) }) {
		s.fatal("%s was stored and is not found", &r)
	}
	return nil
}

// find implements: read STREAM DEVICE
func (s *script) find(args []string) []string {
	readings, cover := s.read(args[0], args[1])
	var out []string
	for i := range readings {
		out = append(out, fmt.Sprintf("%s arrived %s", readings[i].Time.Format(time.RFC3339), readings[i].Arrived.Format(time.RFC3339)))
	}
	return append(out, fmt.Sprintf("%d readings from %d tables, %d expired", len(readings), len(cover.Read), len(cover.Expired)))
}

func (s *script) plan([]string) []string {
	p, err := s.rotator.Plan(s.t.Context(), time.Time{})
	if err != nil {
		s.fatal("%s", err)
	}
	return describe(&p, true)
}

func (s *script) runOnce([]string) []string {
	p, err := s.rotator.Run(s.t.Context())
	return append(describe(&p, true), failures(err)...)
}

// hourly implements: hourly TIME [KIND…]. It runs the rotator every hour until TIME, and returns
// the runs that had actions. If kinds are given, only actions of these kinds count.
func (s *script) hourly(args []string) []string {
	var out []string
	for end := s.time(args[0]); s.clock.Before(end); {
		s.clock = s.clock.Add(time.Hour)
		p, err := s.rotator.Run(s.t.Context())
		if kinds := args[1:]; len(kinds) > 0 {
			p.Actions = slices.DeleteFunc(p.Actions, func(a rotator.Action) bool { return !slices.Contains(kinds, a.Kind.String()) })
		}
		if lines := append(describe(&p, false), failures(err)...); len(lines) > 0 {
			out = append(append(out, s.clock.Format(time.RFC3339)), lines...)
		}
	}
	return out
}

// kill implements: kill N. It starts a run, kills the process after N calls of the store, and
// starts another process.
func (s *script) kill(args []string) []string {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		s.fatal("%s", err)
	}
	s.calls, s.killing = n, true
	_, err = s.rotator.Run(s.t.Context())
	s.killing = false
	s.start(s.policy)
	if err == nil {
		return []string{"the run ended before"}
	}
	return nil
}

// schedule implements: schedule MONTH[/DAY]
func (s *script) schedule(args []string) []string {
	date := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return t.Format(time.RFC3339)
	}
	var out []string
	for _, t := range s.selected(args[0]) {
		for _, in := range s.tables() {
			if in.Table == t {
				f := s.policy.ScheduleOf(&in)
				out = append(out, fmt.Sprintf("seals %s, retires %s, drops %s: %s", date(f.Seals), date(f.Retires), date(f.Drops), f.Why))
			}
		}
	}
	return slices.Compact(out)
}

func (s *script) health([]string) []string {
	h := s.rotator.Health()
	last := "never"
	if !h.LastSuccess.IsZero() {
		last = h.LastSuccess.Format(time.RFC3339)
	}
	out := []string{fmt.Sprintf("%d of %d ready ahead, %d tables, last success %s", h.Ahead.Existing, h.Ahead.Wanted, h.Tables, last)}
	if h.LastError != "" {
		out = append(out, fmt.Sprintf("last run: %d steps failed", failedSteps(h.LastError)))
	}
	return out
}

// hold implements: hold MONTH[/DAY] REASON…
func (s *script) hold(args []string) []string {
	for _, t := range s.selected(args[0]) {
		if err := s.mem.Hold(s.t.Context(), t, strings.Join(args[1:], " ")); err != nil {
			s.fatal("%s", err)
		}
	}
	return nil
}

func (s *script) release(args []string) []string { return s.hold(args[:1]) }

// restore implements: restore MONTH[/DAY]
func (s *script) restore(args []string) []string {
	for _, t := range s.selected(args[0]) {
		if err := s.mem.Restore(s.t.Context(), t); err != nil {
			s.fatal("%s", err)
		}
	}
	return nil
}

// fail implements: fail STEP [MONTH]. It makes the store refuse a step.
func (s *script) fail(args []string) []string {
	s.failing[strings.Join(args, " ")] = true
	return nil
}

func (s *script) heal([]string) []string {
	clear(s.failing)
	return nil
}

// foreign implements: foreign NAME. It creates a table that belongs to another service. Without a
// name, it lists these tables.
func (s *script) foreign(args []string) []string {
	if len(args) > 0 {
		s.mem.PlantForeign(args[0])
		return nil
	}
	own := map[string]bool{}
	for _, in := range s.tables() {
		own[in.Name()] = in.Owned
	}
	names := slices.DeleteFunc(s.mem.Names(), func(name string) bool { return own[name] })
	slices.Sort(names)
	return names
}

// bound implements: bound DURATION. It returns the largest possible number of tables, if outages
// of the rotator are not longer than the duration.
func (s *script) bound(args []string) []string {
	n, ok := s.policy.Bound(s.clock, s.duration(args[0]))
	if !ok {
		return []string{"none"}
	}
	return []string{fmt.Sprintf("%d tables", n)}
}
