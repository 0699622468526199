package local_test

import (
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

func TestMain(m *testing.M) {
	if err := varvetest.InMemory(m.Run); err != nil {
		panic(err)
	}
}
