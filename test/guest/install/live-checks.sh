# What an agent of a live guest relies on, said in lines that the test looks for.
mkdir -p /opt
enter="nsenter --target 1 --cgroup --mount --ipc --pid --"
SECRET=kept run-agent --env SECRET /bin/sh -c "
  echo IN-AGENT secret=\$SECRET own=\$(test -e /usr/bin/systemctl || echo root)
  echo from-agent > /opt/proof
  $enter cat /opt/proof
  echo PID1 \$($enter readlink /proc/1/exe) \$($enter systemctl is-active systemd-journald)
"
run-agent /bin/sh -c 'exit 7' || echo "AGENT-RC=$?"
rm /opt/proof
