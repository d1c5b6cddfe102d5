#!/bin/sh
# Gets a kernel of Debian's for the virtual machine of spec/probe_kernel_spec.lua
# into build/qemu. Nothing is installed.
set -eu
to=build/qemu
[ -s $to/vmlinuz ] && exit 0
mkdir -p $to
cd $to
name=$(apt-cache depends linux-image-cloud-amd64 |
       sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[ -n "$name" ] || { echo "apt knows no linux-image-cloud-amd64" >&2; exit 1; }
apt-get -qq -o APT::Sandbox::User=root download "$name"
dpkg-deb -x linux-image-*.deb unpacked
cp unpacked/boot/vmlinuz-* vmlinuz.part
rm -rf unpacked linux-image-*.deb
mv vmlinuz.part vmlinuz
