#!/bin/bash
# Checks that a release can be made again: it builds the binary of this machine's
# architecture from a clone in another folder, with an empty build cache, and compares
# it with the one in bin/dist. `make reproduce` calls it with VERSION and LDFLAGS set,
# after `make package`; it compiles everything, which takes minutes.
set -euo pipefail
: "${VERSION:?}" "${LDFLAGS:?}"
arch=$(go env GOARCH)
binary=$PWD/bin/dist/tollgate_${VERSION}_linux_$arch
[ -e "$binary" ] || { echo "$binary is not there: run make package first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet . "$work/elsewhere"
cd "$work/elsewhere"
GOCACHE=$work/cache GOOS=linux GOARCH=$arch go build -ldflags "$LDFLAGS" -o "$work/tollgate" ./cmd/tollgate
sha256sum "$binary" "$work/tollgate"
cmp "$binary" "$work/tollgate"
echo "both builds are equal"
