#!/bin/sh
# Fetches the clients that the tests of doors run, into the user's cache. Go's checksum database and
# the checksum below guard them. With --if-cached, it fails with 3 in place of fetching anything.
set -eu
cache="${XDG_CACHE_HOME:-$HOME/.cache}/varve/doors"
telegraf=1.37.2
js=1.35.0
sum=woWMi8PDpPQpvTsRaUw4Ig+nOGS/CWwAwS66Fa1Vr/EkW+NEwxI8YfPBsdBMn33jK2Y86/qMiiuX/ROHIkJLTw==

if [ -x "$cache/telegraf" ] && [ -f "$cache/package/package.json" ] && [ "$(cat "$cache/versions" 2>/dev/null)" = "$telegraf $js" ]; then
	exit 0
fi
[ "${1:-}" != --if-cached ] || exit 3
mkdir -p "$cache"
rm -f "$cache/versions"
echo "Building Telegraf $telegraf into $cache; this is done once, and takes a few minutes."
GOBIN="$cache" GOFLAGS=-mod=mod CGO_ENABLED=0 nice go install -trimpath \
	-tags custom,inputs.execd,outputs.influxdb,outputs.influxdb_v2,parsers.influx,serializers.influx \
	"github.com/influxdata/telegraf/cmd/telegraf@v$telegraf"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "@influxdata/influxdb-client@$js" >/dev/null
[ "$(openssl dgst -sha512 -binary ./*.tgz | base64 -w 0)" = "$sum" ] || {
	echo "the checksum of @influxdata/influxdb-client@$js is wrong" >&2
	exit 1
}
rm -rf "$cache/package"
tar xzf ./*.tgz -C "$cache"
# Debian has two older clients. Elsewhere, their tests are skipped. apt-get checks the signatures.
if command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
	if apt-get -qq download influxdb-client python3-influxdb python3-msgpack python3-tz 2>/dev/null; then
		for package in ./*.deb; do dpkg -x "$package" "$cache/debian"; done
	else
		echo "apt-get has no influxdb-client, python3-influxdb and its modules: their tests are skipped" >&2
	fi
fi
echo "$telegraf $js" >"$cache/versions"
