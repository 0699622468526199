#!/bin/sh
# Fetches the clients, brokers and emulators that the tests of doors run, into the user's cache. Go's
# checksum database, lock files and the checksums below guard them. With --if-cached, the script
# fetches nothing, and exits with 3 if one of them is missing.
set -eu
only=${1:-}
cache="${XDG_CACHE_HOME:-$HOME/.cache}/varve/doors"
telegraf=1.37.2
inputs=inputs.cpu,inputs.execd
js=1.35.0
sum=woWMi8PDpPQpvTsRaUw4Ig+nOGS/CWwAwS66Fa1Vr/EkW+NEwxI8YfPBsdBMn33jK2Y86/qMiiuX/ROHIkJLTw==

# The emulators of Kinesis and SQS. The lock file has the checksums. No script of a package runs.
if ! cmp -s testdata/aws/package-lock.json "$cache/aws/package-lock.json" || [ ! -d "$cache/aws/node_modules/kinesalite" ]; then
	[ "$only" != --if-cached ] || exit 3
	mkdir -p "$cache"
	rm -rf "$cache/aws"
	cp -r testdata/aws "$cache/aws"
	npm ci --silent --ignore-scripts --omit=optional --no-audit --no-fund --prefix "$cache/aws"
fi

arrow=21.2.0
arrow_sum=Hxe6Agq26gQOM954qpzYSllJBPJl+e16U5CkfuMUhLrNba+5nKkttIVlflaovN6oaTratqMGAO8H5u/aNhmHWQ==

# fetch NAME VERSION SHA512 FOLDER unpacks an npm package into FOLDER/package.
fetch() {
	work=$(mktemp -d)
	(
		cd "$work"
		npm pack --silent "$1@$2" >/dev/null
		[ "$(openssl dgst -sha512 -binary ./*.tgz | base64 -w 0)" = "$3" ] || {
			echo "the checksum of $1@$2 is wrong" >&2
			exit 1
		}
		rm -rf "$4/package"
		mkdir -p "$4"
		tar xzf ./*.tgz -C "$4"
	)
	rm -rf "$work"
}

# debian PACKAGE... unpacks packages of Debian, whose signatures apt-get checks, unless that was done before.
# If a package is missing, it unpacks none: the tests that need it are skipped, and the next run retries.
# With CI=true, the script fails instead. On other systems, it does nothing.
debian() {
	marker="$cache/debian/$1-fetched"
	if [ "$(cat "$marker" 2>/dev/null)" = "$*" ] || ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
		return 0
	fi
	if [ "$only" = --if-cached ]; then
		[ "${CI:-}" != true ] || exit 3
		return 0
	fi
	mkdir -p "$cache/debian"
	work=$(mktemp -d)
	if (
		cd "$work"
		{ apt-get -qq download "$@" || { apt-get -qq update && apt-get -qq download "$@"; }; } 2>apt.log || exit 1
		for package in ./*.deb; do dpkg -x "$package" "$cache/debian" || exit 1; done
	); then
		echo "$*" >"$marker"
	else
		cat "$work/apt.log" >&2
		echo "apt-get lacks one of $*: the tests that need it are skipped" >&2
		[ "${CI:-}" != true ] || exit 1
	fi
	rm -rf "$work"
}

if [ ! -f "$cache/arrow/package/Arrow.es2015.min.js" ] || [ "$(cat "$cache/arrow/version" 2>/dev/null)" != "$arrow" ]; then
	[ "$only" != --if-cached ] || exit 3
	fetch apache-arrow "$arrow" "$arrow_sum" "$cache/arrow"
	echo "$arrow" >"$cache/arrow/version"
fi
# Brokers and clients of MQTT. npm checks the checksums in testdata/node.
mqtt="aedes 1.2.0, mqtt 5.16.0, mosquitto"
if [ "$(cat "$cache/mqtt-versions" 2>/dev/null)" != "$mqtt" ]; then
	[ "$only" != --if-cached ] || exit 3
	rm -rf "$cache/node"
	mkdir -p "$cache/node"
	cp "$(dirname "$0")/testdata/node/package.json" "$(dirname "$0")/testdata/node/package-lock.json" "$cache/node"
	(cd "$cache/node" && npm ci --ignore-scripts --silent --no-audit --no-fund)
	echo "$mqtt" >"$cache/mqtt-versions"
fi
# Two brokers of MQTT, Prometheus with promtool, and clients of InfluxDB.
debian mosquitto mosquitto-clients libmosquitto1 libwrap0 libdlt2 libwebsockets17 libcjson1 libev4 libuv1
debian prometheus
debian nats-server
debian influxdb-client python3-influxdb python3-msgpack python3-tz
# The client library for InfluxDB 3, which has dependencies. The lock file has their checksums.
if ! cmp -s testdata/influx3/package-lock.json "$cache/influx3/package-lock.json" || [ ! -d "$cache/influx3/node_modules/@influxdata" ]; then
	[ "$only" != --if-cached ] || exit 3
	rm -rf "$cache/influx3"
	mkdir -p "$cache"
	cp -r testdata/influx3 "$cache/influx3"
	npm ci --silent --ignore-scripts --no-audit --no-fund --prefix "$cache/influx3"
fi
if [ -x "$cache/telegraf" ] && [ -f "$cache/package/package.json" ] && [ "$(cat "$cache/versions" 2>/dev/null)" = "$telegraf $inputs $js" ]; then
	exit 0
fi
[ "$only" != --if-cached ] || exit 3
mkdir -p "$cache"
rm -f "$cache/versions"
echo "Building Telegraf $telegraf into $cache; this is done once, and takes a few minutes."
GOBIN="$cache" GOFLAGS=-mod=mod CGO_ENABLED=0 nice go install -trimpath \
	-tags "custom,$inputs,outputs.influxdb,outputs.influxdb_v2,parsers.influx,serializers.influx" \
	"github.com/influxdata/telegraf/cmd/telegraf@v$telegraf"
fetch @influxdata/influxdb-client "$js" "$sum" "$cache"
echo "$telegraf $inputs $js" >"$cache/versions"
