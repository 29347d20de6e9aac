#!/bin/sh
# /var/lib/tollgate remains even if the package is purged, because it contains the
# database and the key that decrypts its secrets.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
