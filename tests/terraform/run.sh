#!/bin/sh
# Tests the Terraform modules. With -short, only what needs no emulator, and
# nothing at all if what it needs has not been got yet.
set -eu
cd "$(dirname "$0")"
short=${1:-}
if [ "$short" = -short ]; then
	./tools.sh --if-cached || {
		[ $? = 3 ] || exit 1
		echo "terraform tests: left out, as what they need is not there yet: make test gets it, once, in about ten minutes"
		exit 0
	}
else
	./tools.sh
fi
go vet ./...
# What they drive is not in go's cache. A test that is timed out leaves things
# behind, so the time is ample.
go test -race $short -count=1 -timeout 40m ./...
