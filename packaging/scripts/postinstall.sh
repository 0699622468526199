#!/bin/sh
# Creates the user of the service. It starts nothing: the first start is the operator's.
set -e
getent passwd varve >/dev/null || useradd --system --user-group --no-create-home --home-dir /var/lib/varve --shell /usr/sbin/nologin varve
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	# After an upgrade, a running service continues with the new program.
	systemctl try-restart varve.service || true
fi
