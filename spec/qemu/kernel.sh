#!/bin/sh
# Gets a kernel of Debian's for the virtual machine of spec/probe_kernel_spec.lua
# as DIRECTORY/vmlinuz. Nothing is installed.
# Usage: spec/qemu/kernel.sh DIRECTORY
set -eu
to=$1
[ -s "$to/vmlinuz" ] && exit 0
mkdir -p "$to"
cd "$to"

name_of_kernel() {
  apt-cache depends linux-image-cloud-amd64 2>/dev/null |
    sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# The lists of a fresh machine may be empty.
name=$(name_of_kernel)
[ -n "$name" ] || { apt-get -qq update </dev/null; name=$(name_of_kernel); }
[ -n "$name" ] || { echo "apt knows no linux-image-cloud-amd64" >&2; exit 1; }
apt-get -qq -o APT::Sandbox::User=root download "$name" </dev/null
dpkg-deb -x linux-image-*.deb unpacked
cp unpacked/boot/vmlinuz-* vmlinuz.part
rm -rf unpacked linux-image-*.deb
mv vmlinuz.part vmlinuz
