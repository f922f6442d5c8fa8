#!/bin/sh
# Runs a command of Bootwright on this host, by the line of the inventory service, with /etc/bootwright besides:
#   bootwright.sh doctor -r master    bootwright.sh plan    bootwright.sh install    bootwright.sh status
# An install takes its settings from /etc/bootwright/config.yaml, and those of flags before it.
set -eu
mkdir -p /etc/bootwright
exec podman run --rm --privileged --pid=host --net=host \
  -v /dev:/dev:rw -v /opt:/opt:rw -v /var/log:/var/log:rw \
  -v /run/systemd/journal/socket:/run/systemd/journal/socket -v /etc/pki:/etc/pki -v /tmp:/tmp \
  -v /etc/bootwright:/etc/bootwright:ro --env=PULL_SECRET_TOKEN \
  registry.example/bootwright:latest "$@"
