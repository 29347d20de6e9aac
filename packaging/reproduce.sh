#!/bin/bash
# Checks that a release can be reproduced. It builds the archives of bin/dist again from
# a clone in a different folder, with an empty build cache, and compares them. `make
# reproduce` calls it after `make package`, with VERSION and LDFLAGS set. It compiles
# everything, which takes minutes for each system; TARGETS=linux/amd64 selects a system.
set -euo pipefail
: "${VERSION:?}" "${LDFLAGS:?}"
dist=$PWD/bin/dist
if [ -z "${TARGETS:-}" ]; then
	for archive in "$dist"/*.tar.gz "$dist"/*.zip; do
		if [[ $archive =~ tollgate_${VERSION}_([a-z]+)_([a-z0-9]+)\.(tar\.gz|zip)$ ]]; then
			TARGETS+=" ${BASH_REMATCH[1]}/${BASH_REMATCH[2]}"
		fi
	done
fi
[ -n "${TARGETS:-}" ] || { echo "$dist has no archives: run make package first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet . "$work/elsewhere"
cd "$work/elsewhere"
mkdir "$work/dist"
for target in $TARGETS; do
	GOCACHE=$work/cache packaging/binary.sh "$target" "$VERSION" "$work/dist"
	for archive in "$work/dist/tollgate_${VERSION}_${target/\//_}".{tar.gz,zip}; do
		[ -e "$archive" ] || continue
		sha256sum "$dist/${archive##*/}" "$archive"
		cmp "$dist/${archive##*/}" "$archive"
	done
	rm -rf "$work/cache" # so that each build starts from nothing
done
echo "both builds are equal"
