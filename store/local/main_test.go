package local_test

import (
	"testing"

	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/tests/varvetest"
)

func TestMain(m *testing.M) {
	local.SetMinPart(2)
	local.SetRepairBatch(100)
	if err := varvetest.InMemory(m.Run); err != nil {
		panic(err)
	}
}
