package api

import (
	"errors"
	"net/url"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/arrowstream"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/query"
)

const aboutArrow = "In the format arrow, the answer is a stream of Apache Arrow with the columns of CSV, and with trailers as in CSV. " +
	"A column of numbers is decimal128(38, scale), or utf8 if its numbers do not fit; with numbers=float, it is float64. " +
	"Columns of strings are utf8, of booleans bool, and of JSON utf8. A column with values of several kinds is utf8 with JSON. " +
	"The metadata varve.kind of a column has the kind of its values."

// arrowTries is the maximum number of times that an Arrow answer is begun. It is begun again if readings
// that arrive meanwhile change its schema.
const arrowTries = 3

// arrowAnswer writes the readings of an answer as an Arrow stream. The zero arrowAnswer belongs to
// answers in other formats.
type arrowAnswer struct {
	numbers arrowstream.Numbers
	stream  *arrowstream.Writer
	closed  bool
}

func numbersOf(asked url.Values, f wire.Format) (arrowstream.Numbers, error) {
	text := asked.Get("numbers")
	switch {
	case text == "":
		return arrowstream.Exact, nil
	case f != wire.Arrow:
		return 0, varve.InvalidParam("query.numbers", "requires format=arrow: other formats have all digits")
	case text == "exact":
		return arrowstream.Exact, nil
	case text == "float":
		return arrowstream.Floats, nil
	default:
		return 0, varve.InvalidParam("query.numbers", "%s is unknown: use exact or float", quote.Text(text))
	}
}

// sendArrow reads the answer twice: once for its schema, and once for its readings. If readings that
// arrive in between change the schema, it starts again, unless a part has been sent. After arrowTries
// attempts, it fails.
func (a *answer) sendArrow() error {
	for tries := 1; ; tries++ {
		err := a.sendStream()
		switch {
		case !errors.Is(err, arrowstream.ErrChanged) || a.sent:
			return err
		case tries == arrowTries:
			return &varve.Error{Failure: varve.Unavailable, RetryAfter: readRetry, Message: err.Error()}
		}
		a.begun, a.found, a.out = false, false, a.out[:0]
	}
}

func (a *answer) sendStream() error {
	types := arrowstream.NewTypeSet(a.table.Fields)
	err := a.scan(func(p *query.Part) {
		for i := range p.Columns {
			types.AddPart(&p.Columns[i])
		}
		for i := range p.Readings {
			types.Add(&p.Readings[i])
		}
	})
	if err == nil {
		err = types.Check()
	}
	if err != nil {
		return err
	}
	a.arrow.stream = types.NewWriter(&outWriter{a}, a.arrow.numbers)
	return a.sendPages()
}

// outWriter is an io.Writer that appends to the text of an answer.
type outWriter struct{ *answer }

func (w *outWriter) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

func (s *arrowAnswer) add(part *query.Part) error {
	for i := range part.Columns {
		if err := s.stream.AddPart(&part.Columns[i]); err != nil {
			return err
		}
	}
	return s.stream.Add(part.Readings)
}

// withheld returns the number of bytes at the end of out that must not be sent yet. Without them, a
// stream that is cut off never ends between two batches, and so never looks complete.
func (s *arrowAnswer) withheld(out []byte) int {
	if s.stream == nil || s.closed {
		return 0
	}
	return min(arrowstream.EndBytes, len(out))
}

func (s *arrowAnswer) close() error {
	if s.stream == nil {
		return nil
	}
	s.closed = true
	return s.stream.Close()
}
