#!/bin/sh
# Tests the console in a browser. With -short, it runs only if the tools have been fetched.
set -eu
cd "$(dirname "$0")"
short=${1:-}
if [ "$short" = -short ]; then
	./tools.sh --if-cached || {
		[ $? = 3 ] || exit 1
		echo "console tests: skipped, because axe-core is missing: make test fetches it once"
		exit 0
	}
else
	./tools.sh
fi
go vet ./...
# Go does not know that the program under test has changed, so it must not reuse results.
go test $short -count=1 -timeout 30m ./...
