#!/bin/sh
# Tests the Terraform modules. With -short, it runs only tests without an emulator,
# and no test if a tool has not been fetched yet.
set -eu
cd "$(dirname "$0")"
short=${1:-}
if [ "$short" = -short ]; then
	./tools.sh --if-cached || {
		[ $? = 3 ] || exit 1
		echo "terraform tests: skipped, because their tools are missing: make test fetches them once, in about ten minutes"
		exit 0
	}
else
	./tools.sh
fi
go vet ./...
# The programs under test are not in go's cache, so results are not reused. A test
# that exceeds the timeout leaves resources, so the timeout is ample.
go test -race $short -count=1 -timeout 40m ./...
