#!/bin/sh
# Creates the user of the service @NAME@ and its folder. It does not start the service: the operator
# does that.
set -e
getent passwd @NAME@ >/dev/null || useradd --system --user-group --no-create-home --home-dir /var/lib/@NAME@ --shell /usr/sbin/nologin @NAME@
install -d -o @NAME@ -g @NAME@ -m 0700 /var/lib/@NAME@
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	# After an upgrade, restart a running service, so that it uses the new program.
	systemctl try-restart @NAME@.service || true
fi
