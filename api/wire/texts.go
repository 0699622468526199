package wire

import "github.com/varvedb/varve/internal/reuse"

// span is the range of one text in Batch.texts.
type span struct{ from, to int }

func (b *Batch) recordText(text []byte) { b.shareText(len(b.Readings)-1, text) }

// shareText records one text for the readings of the batch from an index to the last one.
func (b *Batch) shareText(from int, text []byte) {
	if from >= len(b.Readings) {
		return
	}
	b.size += len(text)
	at := span{len(b.texts), len(b.texts) + len(text)}
	b.texts = append(reuse.Grow(b.texts, len(text)), text...)
	for len(b.spans) < from {
		b.spans = append(b.spans, span{}) // an earlier reading without a text
	}
	for len(b.spans) < len(b.Readings) {
		b.spans = append(reuse.Grow(b.spans, 1), at)
	}
}

// extendText adds a line to the text of the last reading. If the text has maxLine bytes or more already,
// extendText omits the line, because the text of a stored reject is shorter.
func (b *Batch) extendText(line []byte) {
	if len(b.spans) < len(b.Readings) {
		return
	}
	if s := b.spans[len(b.spans)-1]; s.to-s.from >= maxLine {
		return
	}
	b.size += len(line) + 1
	b.texts = append(append(b.texts, '\n'), line...)
	b.spans[len(b.spans)-1].to = len(b.texts)
}

// Text returns the text of the reading with index i in the body. It returns nil if texts are not
// recorded.
func (b *Batch) Text(i int) []byte {
	if i >= len(b.spans) {
		return nil
	}
	return b.texts[b.spans[i].from:b.spans[i].to]
}

// Header returns the text of the header of a CSV body, if texts are recorded.
func (b *Batch) Header() []byte { return b.header }

// StartBody forgets the header of an earlier body.
func (b *Batch) StartBody() { b.header = b.header[:0] }

func (b *Batch) recordHeader(text []byte) { b.header = append(b.header[:0], text...) }
