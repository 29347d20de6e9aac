#!/bin/sh
# An upgrade leaves the service running: postinst restarts it.
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now tollgate.service || true
fi
