#!/bin/sh
# Runs a command of Bootwright on this host, whose files it reaches by --pid=host, /etc/bootwright among them:
#   bootwright.sh doctor -r master    bootwright.sh plan    bootwright.sh install    bootwright.sh status
# An install takes its settings from /etc/bootwright/config.yaml, and those of flags before it.
set -eu
exec podman run --rm --privileged --pid=host --net=host \
  -v /dev:/dev:rw --env=PULL_SECRET_TOKEN \
  registry.example/bootwright:latest "$@"
