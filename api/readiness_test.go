package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestReadiness_ShowsDetailsToOperators checks that only keys of tenant default with the scope read
// get details of the deployment.
func TestReadiness_ShowsDetailsToOperators(t *testing.T) {
	l := newLocked(t)
	for who, all := range map[string]bool{"none": false, "revoked": false, "other admin": false, "write": false, "read": true, "admin": true} {
		r := l.as(l.keys[who], "GET", "/readyz", "")
		if r.status != http.StatusOK || strings.Contains(r.body, "version") != all || !all && r.body != `{"ready":true}`+"\n" {
			t.Errorf("%s: %d %s", who, r.status, r.body)
		}
	}
}
