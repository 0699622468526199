# Runs the tests of the Terraform modules. With -short, it runs only tests that need no emulator,
# and none if a tool has not been fetched.
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
# Go does not know that the programs under test have changed, so it must not reuse results. A test
# that exceeds the timeout leaves resources, so the timeout is long.
go test -race $short -count=1 -timeout 40m ./...
