#!/usr/bin/env bash
# Publishes a release from a clean checkout of a tag, with provenance: the registry
# then shows which commit and which workflow the package was built from. That needs
# a workflow with `id-token: write`; elsewhere npm refuses to make the statement.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -z "$(git status --porcelain)" ] || { echo "The checkout has changes."; exit 1; }
version=$(node -p 'require("./package.json").version')
[ "$(git describe --tags --exact-match)" = "v$version" ] || { echo "HEAD is not tagged v$version."; exit 1; }

npm ci                       # exactly what the lock file says, by its digests
npm audit signatures         # what came is what its publishers signed
npm audit --omit=dev         # nothing known against what users install
npm run check
npm pack --dry-run
npm publish --provenance --access public
