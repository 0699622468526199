package main

import (
	"context"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/mem"
)

func memoryKind() storeKind {
	return storeKind{
		name: "mem", inProcess: true, tables: 1,
		open:  func(context.Context, storeOptions) (store.Store, error) { return mem.New(now), nil },
		place: func(*config.Config) string { return "memory" },
		greeting: func(context.Context, *config.Config, store.Store) string {
			return "in memory only: lost when the process ends"
		},
		examine: func(context.Context, *config.Config, bool) ([]dynamo.Finding, error) {
			return []dynamo.Finding{{Check: "store", State: dynamo.Good, Found: "in memory only: no checks apply"}}, nil
		},
	}
}
