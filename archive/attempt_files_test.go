package archive

import "testing"

// TestAttemptOf_AnyNumberOfFiles checks the names of the files of an attempt with more than 100,000 files.
func TestAttemptOf_AnyNumberOfFiles(t *testing.T) {
	for _, n := range []int{0, 99_999, 100_000, 1_234_567} {
		if got := attemptOf(partName("0123456789abcdef", n)); got != "0123456789abcdef" {
			t.Errorf("file %d: attempt %q", n, got)
		}
	}
	for _, bad := range []string{"part-0123456789abcdef-1.parquet", "part-0123456789abcdef-000001.parquet", "part-0123456789abcdef--0001.parquet", "part-0123456789abcdef-+0001.parquet"} {
		if got := attemptOf(bad); got != "" {
			t.Errorf("%s: %q", bad, got)
		}
	}
}
