package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
)

// TestFault_ExcludesDisconnectedClient checks that a failure is reported as a fault of the server
// unless the client has disconnected.
func TestFault_ExcludesDisconnectedClient(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	rows := []struct {
		why  string
		ctx  context.Context
		err  error
		told bool
	}{
		{"a fault", t.Context(), errors.New("disk full"), true},
		{"the request was canceled", t.Context(), fmt.Errorf("list tables: %w", context.Canceled), false},
		{"a reset", t.Context(), &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.ECONNRESET)}, false},
		{"a broken pipe", t.Context(), &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, false},
		{"a fault after that", gone, errors.New("disk full"), false},
	}
	for _, row := range rows {
		told := false
		a := &responder{report: func(*http.Request, error) { told = true }}
		a.failed(httptest.NewRequestWithContext(row.ctx, http.MethodGet, "/v1/streams", nil), row.err)
		if told != row.told {
			t.Errorf("%s: told of is %v, want %v", row.why, told, row.told)
		}
	}
}
