package query

import (
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// ParseOrder parses "asc" or "desc". The empty text means ascending.
func ParseOrder(s string) (varve.Order, error) {
	switch s {
	case "", "asc":
		return varve.Ascending, nil
	case "desc":
		return varve.Descending, nil
	}
	return 0, fmt.Errorf("order %s is unknown: use asc or desc", quote.Text(s))
}

// ParseBy parses "event" or "arrival". The empty text means event.
func ParseBy(s string) (varve.By, error) {
	switch s {
	case "", "event":
		return varve.ByEvent, nil
	case "arrival":
		return varve.ByArrival, nil
	}
	return 0, fmt.Errorf("by %s is unknown: use event or arrival", quote.Text(s))
}
