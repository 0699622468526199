# Checks that all tools for the tests are installed. If some are missing, it prints them and how to
# install them, and fails. With CI=true, it first installs missing packages with apt-get.
set -eu

packages=""
problems=""

# problem TEXT records a problem that apt-get may not solve. Debian has no package of Terraform, and its Go
# may be too old.
problem() {
	problems="$problems$1
"
}

# need COMMAND PACKAGE WHY adds the package to the missing ones if the command is not installed.
need() {
	command -v "$1" >/dev/null && return
	packages="$packages $2"
	echo "$1 is missing, $3." >&2
}

# The race detector needs a C compiler and the headers of the C library.
has_cc() { printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | ${CC:-cc} -x c -o /dev/null - 2>/dev/null; }

look() {
	packages=""
	need curl curl "which the README's tour uses"
	need npm npm "which fetches DynamoDB's emulators"
	need aws awscli "with which tests look at DynamoDB's tables"
	need openssl openssl "which checks what npm fetched"
	need rpm rpm "which installs the package that a test builds"
	need systemd-analyze systemd "which checks the unit of the packages"
	need java openjdk-17-jre-headless "which runs DynamoDB Local"
	need prometheus-alertmanager prometheus-alertmanager "which receives alerts in a test"
	need chromium chromium "which opens the console in a test"
	if ! has_cc; then
		packages="$packages gcc libc6-dev"
		echo "A C compiler is missing, which the race detector needs." >&2
	fi
}

go_hint="install Go 1.26 or later from https://go.dev/dl/"
if command -v go >/dev/null; then
	version=$(go env GOVERSION)
	minor=$(echo "$version" | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
	[ "${minor:-0}" -ge 26 ] || problem "$version is too old: $go_hint"
else
	problem "Go is missing: $go_hint"
fi

terraform_hint="install 1.9 or later from https://developer.hashicorp.com/terraform/install"
if command -v terraform >/dev/null; then
	version=$(terraform version 2>/dev/null | sed -n '1s/^Terraform v\(1\.[0-9]*\).*/\1/p')
	[ "${version#1.}" -ge 9 ] 2>/dev/null || problem "terraform ${version:-of an unknown version} is too old: $terraform_hint"
else
	problem "terraform is missing, with which the modules in terraform/ are tested: $terraform_hint"
fi

look
if [ -n "$packages" ] && [ "${CI:-}" = true ]; then
	echo "Installing$packages."
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } >/dev/null || true
	look
fi
[ -z "$packages" ] || problem "Packages are missing: sudo apt-get install$packages"
[ -z "$problems" ] || {
	printf '%s' "$problems" >&2
	exit 1
}
