package mem_test

import (
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/store/storetest"
	"testing"
	"time"
)

func TestStore_Conforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s := mem.New(now)
		t.Cleanup(func() { s.Close() })
		return s
	})
}
