package decimal_test

import (
	"fmt"

	"github.com/varvedb/varve/decimal"
)

func ExampleParse() {
	n, err := decimal.Parse("21.50")
	if err != nil {
		fmt.Print(err)
		return
	}
	fmt.Print(n, " ", n.Canonical(), " ", n.Equal(decimal.FromInt(22)))
	// Output: 21.50 21.5 false
}

func ExampleSum_Mean() {
	var sum decimal.Sum
	for _, text := range []string{"0.1", "0.2", "0.3"} {
		n, err := decimal.Parse(text)
		if err != nil {
			fmt.Print(err)
			return
		}
		sum.Add(n)
	}
	mean := sum.Mean(3)
	fmt.Print(sum.String(), " ", mean.String())
	// Output: 0.6 0.2
}
