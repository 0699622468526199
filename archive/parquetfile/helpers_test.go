package parquetfile_test

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store/local/chunk"
)

func partOf(t tester, list []varve.Reading) block.Part {
	t.Helper()
	var b chunk.Builder
	for i := range list {
		b.Add(&list[i], !list[i].HasOwnID())
	}
	c := new(chunk.Chunk)
	if err := c.Decode(list[0].Series, b.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	return block.Part{Block: &c.Block, From: 0, To: c.Len()}
}
