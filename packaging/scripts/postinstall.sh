#!/bin/sh
# Creates the user of the service and its folder, in which the first API key can be created. It
# starts nothing: the first start is the operator's.
set -e
getent passwd varve >/dev/null || useradd --system --user-group --no-create-home --home-dir /var/lib/varve --shell /usr/sbin/nologin varve
install -d -o varve -g varve -m 0700 /var/lib/varve
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	# After an upgrade, a running service continues with the new program.
	systemctl try-restart varve.service || true
fi
