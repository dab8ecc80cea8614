#!/usr/bin/env bash
# An hour and a half: new inputs for the campaigns and for the properties of the test suite, and
# 1,000 kills of a gateway that stores.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
npm run fuzz -- --seconds 540 || status=1
timeout 900 npm run fuzz:tests -- test/recordings src/schema src/tools test/hardening || status=1
PATCHBAY_KILLS=1000 npx vitest run test/state/kill.test.ts || status=1
exit $status
