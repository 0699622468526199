#!/bin/sh
# Creates the user of the service @NAME@ and its folder. It starts nothing: the first start is the
# operator's.
set -e
getent passwd @NAME@ >/dev/null || useradd --system --user-group --no-create-home --home-dir /var/lib/@NAME@ --shell /usr/sbin/nologin @NAME@
install -d -o @NAME@ -g @NAME@ -m 0700 /var/lib/@NAME@
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	# After an upgrade, a running service continues with the new program.
	systemctl try-restart @NAME@.service || true
fi
