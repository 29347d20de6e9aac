#!/bin/bash
# Creates bin/dist. For each system it contains an archive with the static binary, and
# a bill of materials; for Linux also the binary, a Debian package and an OCI image.
# SHA256SUMS has the checksums of all files. `make package` calls this script at the top
# of the repository, with VERSION, LDFLAGS and NFPM set and bin/tollgate built.
set -euo pipefail
: "${VERSION:?}" "${LDFLAGS:?}" "${NFPM:?}"
dist=bin/dist
export VERSION ARCH
for tool in dpkg-deb umoci; do
	command -v $tool >/dev/null || { echo "make package needs $tool: apt install dpkg umoci" >&2; exit 1; }
done

rm -rf $dist
mkdir -p $dist/share
bin/tollgate manpage --directory $dist/share/man
gzip -9n $dist/share/man/*
bin/tollgate completion bash >$dist/share/tollgate.bash
bin/tollgate completion zsh >$dist/share/_tollgate
bin/tollgate completion fish >$dist/share/tollgate.fish

for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}; do
	ARCH=${target#*/}
	binary=$dist/tollgate_${VERSION}_${target/\//_}
	packaging/binary.sh "$target" "$VERSION" $dist
	go run .tools/sbom/main.go -version "$VERSION" "$binary" >"$binary.cdx.json"
	if [ "${target%/*}" != linux ]; then
		rm "$binary"
		continue
	fi
	"$NFPM" package --config packaging/nfpm.yaml --packager deb --target "$dist/tollgate_${VERSION}_$ARCH.deb"
	packaging/image.sh "$binary" "$ARCH" "$VERSION" "$binary.oci.tar"
done
rm -r $dist/share
(cd $dist && sha256sum -- * >SHA256SUMS)

# Check the results.
(cd $dist && sha256sum --check --quiet SHA256SUMS)
shopt -s nullglob
for archive in "$dist"/*.tar.gz; do
	listed=$(tar -tvzf "$archive")
	grep -q '^-rwxr-xr-x .*/tollgate$' <<<"$listed"
	grep -q '/LICENSE$' <<<"$listed"
	binary=${archive%.tar.gz}
	[ ! -e "$binary" ] || tar -xOzf "$archive" "${binary##*/}/tollgate" | cmp - "$binary"
done
for archive in "$dist"/*.zip; do
	listed=$(python3 -m zipfile --list "$archive")
	grep -q '/tollgate.exe ' <<<"$listed"
	python3 -m zipfile --test "$archive" >/dev/null
done
for package in "$dist"/*.deb; do
	[ "$(dpkg-deb --field "$package" Version)" = "$VERSION-1" ]
	contents=$(dpkg-deb --contents "$package")
	for path in usr/bin/tollgate usr/lib/systemd/system/tollgate.service usr/lib/sysusers.d/tollgate.conf \
		usr/share/man/man8/tollgate.8.gz usr/share/bash-completion/completions/tollgate \
		usr/share/zsh/vendor-completions/_tollgate usr/share/fish/vendor_completions.d/tollgate.fish etc/tollgate/Caddyfile; do
		grep -q " \./$path\$" <<<"$contents" || { echo "$package lacks $path" >&2; exit 1; }
	done
	grep -q '^-rw------- .* \./etc/tollgate/environment$' <<<"$contents" || { echo "$package: others may read the environment" >&2; exit 1; }
	[ "$(dpkg-deb --info "$package" conffiles | sort | xargs)" = "/etc/tollgate/Caddyfile /etc/tollgate/environment" ]
done
for image in "$dist"/*.oci.tar; do
	unpacked=$(mktemp -d)
	mkdir "$unpacked/image"
	tar -xf "$image" -C "$unpacked/image"
	umoci unpack --rootless --image "$unpacked/image:tollgate" "$unpacked/bundle"
	cmp "${image%.oci.tar}" "$unpacked/bundle/rootfs/usr/bin/tollgate"
	cmp packaging/Caddyfile "$unpacked/bundle/rootfs/etc/tollgate/Caddyfile"
	rm -rf "$unpacked"
done
ls -l $dist
