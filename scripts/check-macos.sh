#!/bin/sh
# Checks that all targets compile for macOS, on a Linux machine without a Mac, a cross compiler or rustup.
#
# Needs root, apt (Debian or Ubuntu) and the network: the Debian archive and crates.io. It makes a Debian trixie in a
# folder, whose `rustc-web` is as new as this project needs, and there checks the standard library from its sources
# (`-Z build-std`) and then every target of ours. No C code is compiled for macOS, and nothing is linked.
#
#     scripts/check-macos.sh [FOLDER [TARGET]]
#
# FOLDER (default: /var/tmp/ralph-check-macos) is kept, so that the next run takes minutes less.
set -eu

project=$(cd "$(dirname "$0")/.." && pwd)
root=${1:-/var/tmp/ralph-check-macos}
target=${2:-aarch64-apple-darwin}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

fail() {
    echo "check-macos: $1" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail 'run it as root: it makes a chroot'
if ! command -v debootstrap > /dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap
fi

if [ ! -e "$root/ready" ]; then
    mkdir -p "$root"
    [ -x "$root/usr/bin/apt-get" ] || debootstrap --variant=minbase trixie "$root" "$mirror"
fi

# Nothing of the machine stays mounted there, however this ends.
unmount() {
    ! mountpoint -q "$root/proc" || umount "$root/proc"
}
trap unmount EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
unmount
mount -t proc proc "$root/proc"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

if [ ! -e "$root/ready" ]; then
    chroot "$root" sh -c 'apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
            rustc-web cargo-web rust-web-src gcc libc6-dev ca-certificates'
    : > "$root/ready"
fi
# Where a proxy signs the traffic, this machine knows its certificate.
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
fi

# The sources as they are now, committed or not.
rm -rf "$root/project.new"
mkdir "$root/project.new"
(cd "$project" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T -) |
    tar -x -C "$root/project.new"
rm -rf "$root/project"
mv "$root/project.new" "$root/project"

chroot "$root" env CARGO_HOME=/cargo CARGO_TARGET_DIR=/check RUSTC_BOOTSTRAP=1 \
    sh -c "cd /project && cargo check --locked -Z build-std --target $target --all-targets"
echo "check-macos: all targets compile for $target"
