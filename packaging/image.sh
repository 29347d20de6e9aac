#!/bin/bash
# Creates an OCI image with one static binary, without a container engine and without
# root: packaging/image.sh <binary> <arch> <version> <archive>. The archive is an OCI
# image layout in a tar file, which podman, docker and skopeo can load. The same binary
# gives the same archive: all times are SOURCE_DATE_EPOCH, or 1970.
# The image has the same files as that of packaging/Containerfile, without the CA
# certificates, because the binary contains CA certificates. It needs umoci, a Debian
# package.
set -euo pipefail
binary=$1 arch=$2 version=$3 archive=$4
command -v umoci >/dev/null || { echo "packaging/image.sh needs umoci: apt install umoci" >&2; exit 1; }
epoch=${SOURCE_DATE_EPOCH:-0}
created=$(date --utc --date "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pack=(tar --format=gnu --sort=name --mtime "@$epoch" --numeric-owner)

root=$work/root state=$work/state
install -D -m 755 "$binary" "$root/usr/bin/tollgate"
install -D -m 644 packaging/Caddyfile "$root/etc/tollgate/Caddyfile"
for file in LICENSE NOTICE; do install -D -m 644 $file "$root/usr/share/doc/tollgate/$file"; done
install -d -m 1777 "$root/tmp"
find "$root" -mindepth 1 -type d ! -name tmp -exec chmod 755 {} +
install -d -m 755 "$state/var/lib/tollgate" "$state/run/tollgate"
"${pack[@]}" --owner 0 --group 0 -C "$root" -cf "$work/layer.tar" etc tmp usr
"${pack[@]}" --owner 65532 --group 65532 -C "$state" -rf "$work/layer.tar" var/lib/tollgate run/tollgate

image=$work/image
umoci init --layout "$image"
umoci new --image "$image:tollgate"
umoci raw add-layer --image "$image:tollgate" --history.created "$created" --history.created_by packaging/image.sh "$work/layer.tar"
umoci config --image "$image:tollgate" --no-history --os linux --architecture "$arch" --created "$created" \
	--config.user 65532:65532 --config.workingdir /var/lib/tollgate --config.volume /var/lib/tollgate \
	--config.env HOME=/var/lib/tollgate --config.env XDG_DATA_HOME=/var/lib/tollgate --config.env XDG_CONFIG_HOME=/var/lib/tollgate \
	--config.exposedports 80 --config.exposedports 443 --config.exposedports 443/udp \
	--config.entrypoint /usr/bin/tollgate \
	--config.cmd run --config.cmd --config --config.cmd /etc/tollgate/Caddyfile \
	--config.label "org.opencontainers.image.version=$version" --config.label org.opencontainers.image.licenses=Apache-2.0
umoci gc --layout "$image" # removes the leftovers of the earlier steps
"${pack[@]}" --owner 0 --group 0 --mode u=rwX,go=rX -C "$image" -cf "$archive" .
