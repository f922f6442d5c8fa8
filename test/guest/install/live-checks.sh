# What an agent of a live guest relies on, said in lines that the test looks for. The image has Node, and no shell.
mkdir -p /opt
SECRET=kept run-agent --env SECRET /usr/bin/node --eval "
  const { existsSync, writeFileSync } = require('node:fs');
  const words = '--target 1 --cgroup --mount --ipc --pid --'.split(' ');
  const enter = (...argv) =>
    require('node:child_process').execFileSync('nsenter', [...words, ...argv], { encoding: 'utf8' }).trim();
  console.log('IN-AGENT secret=' + process.env.SECRET + ' own=' + (existsSync('/usr/bin/systemctl') ? '' : 'root'));
  writeFileSync('/opt/proof', 'from-agent');
  console.log(enter('cat', '/opt/proof'));
  console.log('PID1', enter('readlink', '/proc/1/exe'), enter('systemctl', 'is-active', 'systemd-journald'));
"
run-agent /usr/bin/node --eval 'process.exit(7)' || echo "AGENT-RC=$?"
rm /opt/proof
