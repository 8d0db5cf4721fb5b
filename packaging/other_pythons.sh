#!/usr/bin/env bash
# Smoke tests with the interpreters of other Debian releases: trixie has Python 3.13, sid 3.14.
# Nothing of this machine is mounted there: the folders can be removed like any other.
# Needs root and debootstrap (`apt-get install debootstrap`).  Usage: packaging/other_pythons.sh dist/dxprivacy-….whl
set -euo pipefail
wheel=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
for suite in trixie sid; do
  root=${TMPDIR:-/tmp}/dxprivacy-$suite
  test -x "$root/usr/bin/python3" || debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$root" >/dev/null
  cp "$here/smoke.py" "$wheel" "$root/tmp/"
  # Names are looked up, and packages found, as on this machine.
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  for settings in /etc/pip.conf ~/.config/pip/pip.conf; do
    if test -f "$settings"; then mkdir -p "$root$(dirname "$settings")" && cp "$settings" "$root$settings"; fi
  done
  passed=$(env | grep -iE '^(pip_|https?_proxy|no_proxy|ssl_cert)' || true)
  # shellcheck disable=SC2086
  env -i PATH=/usr/sbin:/usr/bin:/bin HOME="$HOME" LANG=C.UTF-8 $passed chroot "$root" python3 /tmp/smoke.py "/tmp/$(basename "$wheel")"
done
