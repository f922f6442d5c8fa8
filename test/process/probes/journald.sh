# A journal of its own: a real systemd-journald on a /run of its own, then the probe, then what the
# journal has of it. Runs as process 1 of its own namespaces.
set -eu
mount -t tmpfs none /run
mount -t tmpfs none /var/log
mkdir -p /run/systemd/journal /run/log/journal
/lib/systemd/systemd-journald >/dev/null 2>&1 &
daemon=$!
while [ ! -S /run/systemd/journal/socket ]; do sleep 0.05; done
"$@" >&2
# A busy daemon reads its socket later; the last line comes last.
entries() { journalctl --no-pager --all --output=json TAG=installer; }
until entries | grep -q 'line 999'; do sleep 0.2; done
entries
kill "$daemon"
# By that signal it may end, and in no other way than well.
wait "$daemon" 2>/dev/null || [ $? -eq 143 ]
