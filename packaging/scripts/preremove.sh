#!/bin/sh
# Stops the service before its program is removed, but not before an upgrade. Neither removal
# nor purge deletes /var/lib/@NAME@ or the user that owns it.
set -e
case "${1:-remove}" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now @NAME@.service || true
	fi
	;;
esac
