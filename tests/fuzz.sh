# Runs each fuzz target of the module for the given time, for example: tests/fuzz.sh 30s
set -eu
grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do
	dir=$(dirname "$file")
	sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' "$file" | while read -r target; do
		echo "$dir $target"
		go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}" >/dev/null ||
			{ echo "$dir $target found something: see $dir/testdata/fuzz/$target"; exit 1; }
	done
done
