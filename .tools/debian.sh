#!/bin/sh
# Installs the programs that the tests need and that this machine lacks: a
# PostgreSQL server, a Redis or Valkey server, a C compiler for the race detector,
# curl, Node.js with npm, Python, the browser Chromium, the agent Puppet with the
# client of PuppetDB, the Python library by which dashboards query PuppetDB, and
# Apache with the module for OpenID Connect.
# It looks for programs and not for packages, so programs that were installed by
# other means count too. It calls apt-get only if something is missing.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }
compiles() { has gcc && echo '#include <stdlib.h>' | gcc -E -x c - >/dev/null 2>&1; }
has_postgres() { has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; }
has_redis() { has redis-server || has valkey-server; }
has_dashboards() { [ -d /usr/lib/python3/dist-packages/pypuppetdb ]; }
has_openidc() { [ -e /usr/lib/apache2/modules/mod_auth_openidc.so ]; }
has_terminus() { [ -e /usr/lib/ruby/vendor_ruby/puppet/reports/puppetdb.rb ]; }

# missing prints the Debian packages of the missing programs, in one line.
missing() {
	has curl || printf 'curl '
	compiles || printf 'gcc libc6-dev '
	has_postgres || printf 'postgresql '
	has_redis || printf 'redis-server '
	has node || printf 'nodejs '
	has python3 || printf 'python3 '
	has npm || printf 'npm '
	has puppet || printf 'puppet-agent '
	has_terminus || printf 'puppet-terminus-puppetdb '
	has_openidc || printf 'libapache2-mod-auth-openidc '
	has_dashboards || printf 'python3-pypuppetdb '
	has chromium-headless-shell || has chromium || has chromium-browser || has google-chrome || printf 'chromium-headless-shell '
}

packages=$(missing)
[ -n "$packages" ] || exit 0

if ! has apt-get; then
	echo "please install the equivalent of these Debian packages: $packages" >&2
	exit 1
fi
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo

$sudo apt-get update
# Some Debian releases have Valkey instead of Redis.
apt-cache show redis-server >/dev/null 2>&1 ||
	packages=$(echo "$packages" | sed 's/redis-server/valkey-server/')
# Not all releases have the headless Chromium, which needs half of the CPU time.
apt-cache show chromium-headless-shell >/dev/null 2>&1 ||
	packages=$(echo "$packages" | sed 's/chromium-headless-shell/chromium/')
# shellcheck disable=SC2086 # a list of words
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
