#!/bin/bash
# Builds the binary for one system, and packs it with the licence and an example into
# an archive: packaging/binary.sh <os>/<arch> <version> <folder>. It writes the binary
# <folder>/tollgate_<version>_<os>_<arch>, and the archive with the same name and
# .tar.gz or, for Windows, .zip. The same sources give the same bytes. LDFLAGS must be set.
set -euo pipefail
: "${LDFLAGS:?}"
os=${1%/*} arch=${1#*/} version=$2 folder=$3
name=tollgate_${version}_${os}_$arch program=tollgate ending=tar.gz
if [ "$os" = windows ]; then program=tollgate.exe ending=zip; fi
GOOS=$os GOARCH=$arch go build -ldflags "$LDFLAGS" -o "$folder/$name" ./cmd/tollgate
go run .tools/archive/main.go "$folder/$name.$ending" "$program=$folder/$name" \
	LICENSE NOTICE README.md CHANGELOG.md Caddyfile=caddyfiles/quickstart/Caddyfile
