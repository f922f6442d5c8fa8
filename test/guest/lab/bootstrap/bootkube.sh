#!/bin/bash
# Stands in for bootkube.sh of openshift-install. The API server runs outside of the guest: it gets the manifests of
# this host there, and the lab says when the control plane of the cluster runs.
set -euo pipefail
unit=@DESK@/units/bootkube.service
systemctl start --no-block kubelet.service
tar -C / -cf - opt/openshift/manifests opt/openshift/openshift |
  curl --silent --show-error --fail --retry 10 --retry-connrefused --output /dev/null --data-binary @- "$unit"
until curl --silent --fail --max-time 60 --output /dev/null "$unit/end"; do sleep 1; done
touch /opt/openshift/.bootkube.done
