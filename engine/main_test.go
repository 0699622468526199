package engine_test

import (
	"testing"

	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/tests/varvetest"
)

func TestMain(m *testing.M) {
	if err := varvetest.InMemory(func() int { return randomtest.RunTests(m, 100, 100) }); err != nil {
		panic(err)
	}
}
