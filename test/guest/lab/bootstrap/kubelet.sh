#!/bin/bash
# Stands in for the kubelet: it brings the log of the machine-config-server, which runs outside of the guest, to where
# the logs of containers are.
set -euo pipefail
pod=/var/log/pods/openshift-machine-config-operator_machine-config-server/machine-config-server
mkdir -p "$pod" /var/log/containers
: >> "$pod/0.log"
ln -sfn "$pod/0.log" "/var/log/containers/@LOG@"
while :; do
  curl --silent --fail --max-time 60 "@DESK@/config-server-log?from=$(stat --format=%s "$pod/0.log")" >> "$pod/0.log" || sleep 1
done
