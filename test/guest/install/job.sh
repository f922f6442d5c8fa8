# Runs in a live guest, as the discovery agent would: starts the agent with the words of the service, says how it ended
# and what it left behind. Each run has its NUMBER.words and NUMBER.settings in /job; before.sh comes before all.
set -u
cd /job
written() { awk '{ print $7 }' "/sys/class/block/$(basename "$(realpath /dev/disk/by-id/virtio-target)")/stat"; }

run() {
  events=/var/log/lab-events-$1.jsonl
  settings=$(sed -n 's/^\([A-Z_0-9]*\)=.*/--env \1/p' "$1.settings")
  mapfile -d '' -t words < "$1.words"
  set -a
  . "./$1.settings"
  BOOTWRIGHT_LOG_EVENTS=$events
  set +a
  : > "$events"
  before=$(written)
  run-agent $settings --env BOOTWRIGHT_LOG_EVENTS /usr/bin/installer "${words[@]}" > /var/log/agent-output 2>&1 &
  agent=$!
  echo "RUN $1"
  tail --pid="$agent" --lines=+1 --follow "$events"
  wait "$agent"
  echo "EXIT $?"
  echo "SECTORS $(($(written) - before))"
  echo 'OUTPUT'
  cat /var/log/agent-output
}

[ ! -e before.sh ] || bash -eux before.sh || exit 1
for number in 1 2; do
  [ ! -e "$number.words" ] || (run "$number")
done
journalctl --sync
echo 'JOURNAL'
journalctl --no-pager --output=cat TAG=installer
echo 'SHUTDOWN'
cat /run/systemd/shutdown/scheduled
echo 'FIRMWARE'
[ ! -e /sys/firmware/efi ] || efibootmgr -v
echo 'ALL-SAID'
