#!/usr/bin/env bash
# Builds and tries packages as the workflow of a release does: TARGETS and KINDS are what is built, TRIED what is tried here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
as_root=()
# A Debian to install into, and the image, are made by root alone.
[[ $(uname) != Linux || $(id -u) == 0 ]] || as_root=(sudo --preserve-env "PATH=$PATH")
# shellcheck disable=SC2153
read -ra targets <<<"$TARGETS"
read -ra tried <<<"$TRIED"
"${as_root[@]}" python3 -B scripts/packages/build.py --kinds "$KINDS" "${targets[@]}"
"${as_root[@]}" python3 -B scripts/packages/check.py "${tried[@]}"
