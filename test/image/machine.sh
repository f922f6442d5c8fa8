# usage: machine.sh IMAGES SCRIPT
# A machine as the discovery agent finds it: process 1 is this shell, and /run, /opt and /var/log are its own, with a
# journal. Runs a bash script there. It must be the first process of its own mount and process namespaces.
set -eu
for folder in /run /opt /var/log /dev/shm; do mount -t tmpfs machine "$folder"; done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /run/lock /run/systemd/journal /run/log/journal /etc/pki
/lib/systemd/systemd-journald >/dev/null 2>&1 &
daemon=$!
while [ ! -S /run/systemd/journal/socket ]; do sleep 0.05; done
# Containers of this machine are its own; images are read from the store that they were built in.
export CONTAINERS_STORAGE_CONF=/run/storage.conf
cat > /run/storage.conf <<END
[storage]
driver = "overlay"
graphroot = "/run/containers/graph"
runroot = "/run/containers/run"
[storage.options]
additionalimagestores = ["$1"]
END
# A sandbox may refuse the limits that podman gives by itself.
mkdir /run/bin
cat > /run/bin/podman <<'END'
#!/bin/bash
[ "$1" != run ] || set -- run --pids-limit=0 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "${@:2}"
PATH=${PATH#/run/bin:} exec podman "$@"
END
chmod +x /run/bin/podman
export PATH=/run/bin:$PATH
code=0
bash -euo pipefail -c "$2" || code=$?
kill "$daemon"
# By that signal it may end, and in no other way than well.
wait "$daemon" 2>/dev/null || [ $? -eq 143 ]
exit "$code"
