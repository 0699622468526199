#!/bin/sh
# Tests the doors with real clients. With -short, it runs only if the clients have been fetched.
set -eu
cd "$(dirname "$0")"
if [ "${1:-}" = -short ]; then
	./tools.sh --if-cached || {
		[ $? = 3 ] || exit 1
		echo "door tests: skipped, because their clients are missing: make test fetches them once, in a few minutes"
		exit 0
	}
else
	./tools.sh
fi
go vet ./...
go test -count=1 -parallel 12 -timeout 10m ./...
