package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// preview requests the preview of a rule. The argument "query" has the parameters of the address.
func (s *server) preview(query, rule string) *reply {
	s.t.Helper()
	return s.send(http.MethodPost, "/v1/alert-rules/preview"+query, rule, "Content-Type", "application/json")
}

// TestPreviewRule_ListsAlertsThatRuleOpens previews a rule, and adds it afterward. Resent
// readings must open the previewed alerts.
func TestPreviewRule_ListsAlertsThatRuleOpens(t *testing.T) {
	s := newServer(t, nil)
	readings := []string{measured(100, 35), measured(98, 35), measured(97, 20), measured(9, 31), measured(8, 32), measured(5, 33), measured(1, 10)}
	s.write(readings...)
	p := decode[wire.RulePreview](s.preview("", hot))
	if p.Total != 2 || len(p.Alerts) != 2 || p.Series != 1 || p.Readings < len(readings) || !p.To.Equal(noon) || !p.From.Equal(noon.AddDate(0, 0, -30)) {
		t.Fatalf("%+v", p)
	}
	if p.Rule.ID == "" || p.Rule.Gap == "" || p.Rule.Kind != "value" {
		t.Errorf("rule %+v", p.Rule)
	}
	if r := s.get("/v1/alert-rules"); !strings.Contains(r.body, `"rules":[]`) {
		t.Errorf("the preview stored a rule: %s", r.body)
	}
	s.rule(hot)
	s.send(http.MethodPost, writePath, "["+strings.Join(readings, ",")+"]", "Content-Type", "application/json")
	opened := decode[wire.AlertList](s.get("/v1/alerts")).Alerts
	if len(opened) != len(p.Alerts) {
		t.Fatalf("%d alerts, the preview has %d", len(opened), len(p.Alerts))
	}
	for i, a := range opened {
		b := p.Alerts[i]
		if a.Device != b.Device || a.Stream != b.Stream || a.State != b.State || string(a.Value) != string(b.Value) || !a.Since.Equal(b.Since) ||
			!a.OpenedAt.Equal(b.OpenedAt) || a.ResolvedBy != b.ResolvedBy || !a.ResolvedAt.Equal(*b.ResolvedAt) || a.Late != b.Late {
			t.Errorf("alert %+v, preview %+v", a, b)
		}
	}
	if p := decode[wire.RulePreview](s.preview("?from=-24h", hot)); p.Total != 1 || p.Alerts[0].ResolvedBy != "condition" {
		t.Errorf("a day: %+v", p)
	}
}

func TestPreviewRule_NamesMistakes(t *testing.T) {
	s := newServer(t, nil)
	s.write(measured(1, 1))
	for _, c := range []struct{ query, rule, param, says string }{
		{"?from=soon", hot, "query.from", "soon"},
		{"?from=2026-11-18&to=2026-11-17", hot, "query.to", "before"},
		{"", strings.Replace(hot, "2h", "soon", 1), "body.for", "soon"},
		{"", `{"kind":"deadman","for":"2h","severity":"info"}`, "body.kind", "no preview"},
		{"", strings.Replace(hot, `"stream":"weather",`, ``, 1), "body.stream", "both"},
	} {
		s.preview(c.query, c.rule).problem(http.StatusBadRequest, c.param, c.says)
	}
	p := decode[wire.RulePreview](s.preview("", strings.Replace(hot, `"v"`, `"w"`, 1)))
	if p.Total != 0 || len(p.Notes) != 1 || p.Notes[0].Param != "body.field" {
		t.Errorf("%+v", p)
	}
}

// TestPreviewRule_EndsInJanuary1970 previews a window whose default beginning would be before all valid times.
// The window must begin with 1970.
func TestPreviewRule_EndsInJanuary1970(t *testing.T) {
	s := newServer(t, nil)
	s.write(measured(1, 31))
	r := s.preview("?to=1970-01-15", hot)
	if p := decode[wire.RulePreview](r); r.status != http.StatusOK || p.Total != 0 || p.From.Unix() != 0 {
		t.Errorf("%d %s, want no alerts from 1970-01-01 on", r.status, r.body)
	}
}
