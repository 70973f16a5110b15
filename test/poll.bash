# shellcheck shell=bash
# Sourced by suites that wait for something.

# poll SECONDS COMMAND...: until it succeeds.
poll() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || {
      echo "gave up waiting for: $*"
      return 1
    }
    sleep 0.02
  done
}
