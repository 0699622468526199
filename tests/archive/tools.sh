#!/bin/sh
# Fetches DuckDB into the user's cache, for the tests of the archive. The checksums below guard it. With
# --if-cached, the script fetches nothing, and exits with 3 if DuckDB is missing.
set -eu
cd "$(dirname "$0")"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/varve/archive"
duckdb=1.5.6-r.1
mkdir -p "$cache"

# fetch NAME VERSION SHA512 unpacks an npm package into the folder node_modules of the cache. npm ci is not
# used: its lock file would name the packages of all platforms, and not every registry has all of them.
fetch() {
	work=$(mktemp -d)
	(
		cd "$work"
		npm pack --silent "$1@$2" >/dev/null
		[ "$(openssl dgst -sha512 -binary ./*.tgz | base64 -w 0)" = "$3" ] || {
			echo "the checksum of $1@$2 is wrong" >&2
			exit 1
		}
		mkdir -p "$cache/node/node_modules/$1"
		tar xzf ./*.tgz -C "$cache/node/node_modules/$1" --strip-components 1
	)
	rm -rf "$work"
}

if [ "$(cat "$cache/node/version" 2>/dev/null)" != "$duckdb" ]; then
	[ "${1:-}" != --if-cached ] || exit 3
	[ "$(uname -sm)" = "Linux x86_64" ] || {
		echo "the tests of the archive fetch DuckDB for Linux on x86-64 only" >&2
		exit 1
	}
	rm -rf "$cache/node"
	fetch @duckdb/node-api "$duckdb" yIPol6P4EQmsAUsb27donJf7iADrM31Ei/WkvhkZpSscjhEErYsuF19lsJ/qz5mUWxsKFQpLdjvrlhPQnMTBqw==
	fetch @duckdb/node-bindings "$duckdb" /pWlTyvKC1d16iSMJCBAPwlmzoeXRs5Y9cqG+TpKd/YAW6Ke05FJg099v/Im2bkS9BgznNyNcAK1NxA1eQhSUw==
	fetch @duckdb/node-bindings-linux-x64 "$duckdb" IXcrZJE6kEqM0Z4wwdVnGBHX/frOS33VPNAwDXQ/Q+Fs84b058Qe94chrCCIcNJlG8Y3UHIUU4eBeCQxW5mN1Q==
	fetch detect-libc 2.1.2 Btj2BOOO83o3WyH59e8MgXsxEQVcarkUOpEYrubB0urwnN10yQ364rsiByU11nZlqWYZm05i/of7io4mzihBtQ==
	echo "$duckdb" >"$cache/node/version"
fi
