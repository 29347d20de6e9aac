#!/bin/sh
# Creates the user. A first installation does not start the service, because the
# operator should edit the Caddyfile first.
set -e

[ "$1" = configure ] || exit 0
systemd-sysusers tollgate.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# $2 is the version that was installed before, empty at a first installation.
	if [ -n "$2" ]; then
		systemctl try-restart tollgate.service || true
	fi
fi
