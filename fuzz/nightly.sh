#!/usr/bin/env bash
# An hour of new inputs: the campaigns, and the properties of the test suite.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
npm run fuzz -- --seconds 540 || status=1
timeout 900 npm run fuzz:tests -- test/recordings src/schema src/tools test/hardening || status=1
exit $status
