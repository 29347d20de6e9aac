#!/bin/sh
# Makes the user. The first installation starts nothing: the Caddyfile comes first.
set -e

[ "$1" = configure ] || exit 0
systemd-sysusers tollgate.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# $2 is the version that was there before.
	if [ -n "$2" ]; then
		systemctl try-restart tollgate.service || true
	fi
fi
