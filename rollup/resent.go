package rollup

// Resent is how readings count of which it is unclear whether they are copies of
// readings that were counted before and are gone.
type Resent uint8

// The settings. With IgnoreResent, no reading ever counts twice; with CountResent,
// none is ever missing.
const (
	IgnoreResent Resent = iota
	CountResent
)

// String returns the setting's word.
func (r Resent) String() string {
	if r == CountResent {
		return "count"
	}
	return "ignore"
}
