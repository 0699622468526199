package alerts

import (
	"testing"

	"github.com/varvedb/varve"
)

// TestPreview_HoldsFewAlerts adds many alerts. The preview must count all of them, and hold at most twice
// as many as it returns.
func TestPreview_HoldsFewAlerts(t *testing.T) {
	p := &preview{q: PreviewQuery{Window: varve.AllTime()}, done: &Preview{}}
	of := subjectOf(&Rule{}, varve.Series{})
	const count = 5 * MaxPreviewAlerts
	for i := range count {
		at := second(i)
		p.addAlert(&of, &episode{start: at, opened: at})
		if n := len(p.done.Alerts); n > 2*MaxPreviewAlerts {
			t.Fatalf("the preview holds %d alerts", n)
		}
	}
	p.trim()
	newest, oldest := p.done.Alerts[0].Since, p.done.Alerts[len(p.done.Alerts)-1].Since
	if len(p.done.Alerts) != MaxPreviewAlerts || p.done.Total != count || newest.Sub(oldest).Seconds() != MaxPreviewAlerts-1 {
		t.Errorf("%d of %d alerts from %s to %s", len(p.done.Alerts), p.done.Total, newest, oldest)
	}
}
