package prometheus

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
)

// FinishRollups computes count_over_time of one roll-up, at the given number of steps. It returns the
// number of samples.
func FinishRollups(ctx context.Context, steps int64) (n int, err error) {
	s := &samples{metric: labels.FromStrings(nameLabel, "v")}
	r := rollupReader{
		buckets: bucketed{"count", steps * hour}, first: hour, last: steps * hour, step: hour, fields: map[*samples][]point{s: {{count: 1}}},
	}
	r.list = []*samples{s}
	list, err := r.finish(ctx)
	for _, s := range list {
		n += len(s.list)
	}
	return n, err
}

func AppendFloat(dst []byte, f float64) []byte { return appendFloat(dst, f) }
