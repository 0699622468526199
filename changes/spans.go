package changes

import "slices"

// spansOf returns at most maxSpans ranges that cover the given event hours. Hours far from the
// current one are covered by their day, or by their week if the parameter "many" is true.
func spansOf(list []int64, current int64, many bool) (spans []hours) {
	slices.Sort(list)
	for _, h := range list {
		next := hours{h, 1}
		switch {
		case h >= current-liveHours && h <= current+liveHours:
		case many:
			next = hours{h / weekHours * weekHours, weekHours}
		default:
			next = hours{h / dayHours * dayHours, dayHours}
		}
		if n := len(spans); n > 0 && spans[n-1].from+spans[n-1].n >= next.from {
			spans[n-1].n = max(spans[n-1].n, next.from+next.n-spans[n-1].from)
			continue
		}
		spans = append(spans, next)
	}
	for len(spans) > maxSpans {
		spans = joinNearest(spans)
	}
	return spans
}

// joinNearest joins the neighboring ranges with the smallest gaps, so that at most maxSpans remain.
func joinNearest(spans []hours) []hours {
	gap := func(i int) int64 { return spans[i].from - spans[i-1].from - spans[i-1].n }
	gaps := make([]int64, 0, len(spans))
	for i := 1; i < len(spans); i++ {
		gaps = append(gaps, gap(i))
	}
	slices.Sort(gaps)
	most := gaps[min(len(spans)-maxSpans, len(gaps))-1]
	joined := spans[:1:1]
	for i := 1; i < len(spans); i++ {
		if last := &joined[len(joined)-1]; gap(i) <= most {
			last.n = spans[i].from + spans[i].n - last.from
			continue
		}
		joined = append(joined, spans[i])
	}
	return joined
}
