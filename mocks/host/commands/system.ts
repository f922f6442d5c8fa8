import { existsSync, writeFileSync } from 'node:fs';
import { type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { placeFor, textOf, watchFile } from '../files.ts';
import type { Machine } from '../machine.ts';
import { transpose } from './trees.ts';
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';

const nothing: Program = () => 0;

/** `nmstatectl gc` of one ethernet interface, in the form of mocks/logs/nmstatectl. */
const nmstatectl: Program = ({ files }, call) => {
  if (!existsSync(files.real(call.argv[2] ?? '')))
    return fail(call, 'std::io::Error: No such file or directory (os error 2)');
  const lines = ['[connection]', 'id=eno1', 'interface-name=eno1', 'type=802-3-ethernet'];
  const keyfile = lines.map((line) => `    ${line}\n`).join('');
  return print(call, `NetworkManager:\n- - eno1.nmconnection\n  - |\n${keyfile}`);
};

/** `nmcli --offline connection modify` takes any connection, and prints it unchanged. */
const nmcli: Program = async (_machine, call) => {
  for await (const bytes of call.stdin) call.out(Buffer.from(bytes).toString('utf8'));
  return 0;
};

/** File of systemd for a scheduled shutdown. */
const SCHEDULED = '/run/systemd/shutdown/scheduled';

const shutdown: Program = (machine, call) => {
  const [when = '+1', message = ''] = sortWords(call.argv.slice(1)).rest;
  const place = placeFor(machine.files, SCHEDULED);
  writeFileSync(place, `MODE=reboot\nWALL_MESSAGE=${message}\n`);
  machine.reboot = { when, message };
  call.err(`Reboot scheduled for later (${when}), use 'shutdown -c' to cancel.\n`);
  return 0;
};

const uname: Program = (_machine, call) =>
  print(call, call.argv.includes('-m') ? 'x86_64\n' : 'Linux\n');

/** Reads journal entries from its stdin and drops them. */
const logger: Program = async (_machine, call) => {
  const entries = call.stdin[Symbol.asyncIterator]();
  while ((await entries.next()).done !== true);
  return 0;
};

const flock: Program = async ({ locks }, call) => {
  const words = sortWords(call.argv.slice(1), ['--conflict-exit-code', '-E', '--timeout', '-w']);
  const [name = ''] = words.rest;
  if (locks.has(name)) return Number(words.all('--conflict-exit-code', '-E')[0] ?? 1);
  locks.add(name);
  try {
    for await (const bytes of call.stdin) call.out(Buffer.from(bytes).toString('utf8'));
  } finally {
    locks.delete(name);
  }
  return 0;
};

/** The entries of units, or with `--dmesg` of the kernel. */
const journalctl: Program = ({ hostname, journal }, call) => {
  const words = sortWords(call.argv.slice(1), ['--unit', '--lines', '--output']);
  const units = words.has('--dmesg') ? ['kernel'] : words.all('--unit');
  const isBare = words.all('--output').includes('cat');
  const lines = journal
    .filter(({ unit }) => units.includes(unit))
    .map(({ at, text }) => (isBare ? text : `${new Date(at).toISOString()} ${hostname} ${text}`));
  if (lines.length === 0) return isBare ? 0 : print(call, '-- No entries --\n');
  return print(call, lines.map((line) => `${line}\n`).join(''));
};

const free: Program = (_machine, call) =>
  print(
    call,
    '               total        used        free\nMem:           15731        2048       13683\n',
  );

const SHADOW = '/etc/shadow';

/** The passwords of a host; an image of CoreOS has none for core. */
const shadowOf = ({ files }: Machine): string => textOf(files, SHADOW) ?? 'core:*::0:99999:7:::\n';

/** `usermod -p HASH USER` sets a password. */
const usermod: Program = (machine, call) => {
  const words = sortWords(call.argv.slice(1), ['-p']);
  const [user = ''] = words.rest;
  const [hash = ''] = words.all('-p');
  const lines = shadowOf(machine).split('\n');
  const at = lines.findIndex((line) => line.startsWith(`${user}:`));
  if (at === -1) return fail(call, `usermod: user '${user}' does not exist`, 6);
  lines[at] = [user, hash, ...(lines[at] ?? '').split(':').slice(2)].join(':');
  writeFileSync(machine.files.real(SHADOW), lines.join('\n'));
  return 0;
};

/** Resolves names below `.example`, addresses, and the machine itself. */
const getent: Program = (machine, call) => {
  const [database, name = ''] = call.argv.slice(1);
  if (database === 'shadow') {
    const lines = shadowOf(machine).split('\n');
    const entry = lines.find((line) => line.startsWith(`${name}:`));
    if (entry !== undefined) call.out(`${entry}\n`);
    return entry === undefined ? 2 : 0;
  }
  if (database !== 'ahosts' || !/^(localhost|.*\.example|[\d.]+)$/.test(name)) return 2;
  for (const type of ['STREAM', 'DGRAM', 'RAW']) call.out(`127.0.0.1       ${type} ${name}\n`);
  return 0;
};

const timedatectl: Program = (_machine, call) => print(call, 'yes\n');

const ps: Program = (_machine, call) => {
  call.out('    PID    PPID STAT     ELAPSED WCHAN                            COMMAND\n');
  return print(call, '      1       0 Ss      01:02:03 do_epoll_wait                    systemd\n');
};

// `sh -c` and `bash -c` with the few scripts of the agent. Any other script is a command that the
// lab does not know.

const TRANSPOSE = 'ignition-ostree-transposefs.sh';
const ALLOWED_TO_FAIL = /\s*\|\|\s*true\s*$/;

/** The programs that run other programs; they are created below. */
const wrappers: ReadonlySet<string> = new Set(['sh', 'bash', 'systemd-run']);

/** Creates the shells; they look up programs by name. */
export function shellPrograms(programNamed: (name: string) => Program | undefined): Programs {
  const shell: Program = async (machine, call) => {
    const [, option, script = ''] = call.argv;
    if (option !== '-c') return fail(call, `${call.argv[0] ?? ''}: only -c is in the lab`, 2);
    if (script.startsWith('for p; do command -v "$p"')) {
      const isMissing = (name: string): boolean =>
        !wrappers.has(name) && programNamed(name) === undefined;
      return print(call, call.argv.slice(4).filter(isMissing).join('\n'));
    }
    if (script.includes(TRANSPOSE)) return transpose(machine, call, script);
    const argv = script.replace(ALLOWED_TO_FAIL, '').trim().split(/\s+/);
    const program = programNamed(argv[0] ?? '');
    if (program === undefined || /[|;&<>$`]/.test(argv.join(' '))) {
      machine.unknown.push(script);
      return fail(call, `${call.argv[0] ?? ''}: ${script}: not in the lab`, 127);
    }
    const exitCode = await program(machine, { ...call, argv });
    return ALLOWED_TO_FAIL.test(script) ? 0 : exitCode;
  };
  return { sh: shell, bash: shell };
}

/** Creates `systemd-run`; it looks up programs by name. */
export function transientPrograms(programNamed: (name: string) => Program | undefined): Programs {
  const systemdRun: Program = (machine, call) => {
    const words = sortWords(call.argv.slice(1));
    const [unit = ''] = words.all('--unit');
    const [, path] =
      /^Path(?:Exists|Changed)=(.+)$/.exec(words.all('--path-property')[0] ?? '') ?? [];
    const program = programNamed(words.rest[0] ?? '');
    if (path === undefined || program === undefined) {
      return fail(call, 'systemd-run: only a program that waits for a path is in the lab');
    }
    const name = `${unit}.path`;
    if (machine.units.isActive(name)) {
      return fail(call, `Failed to start transient path unit: Unit ${name} was already loaded.`);
    }
    const argv = call.argv.slice(call.argv.indexOf(words.rest[0] ?? ''));
    machine.units.onStart.set(name, (become, signal) => {
      become('active');
      return whenever({ machine, path, signal }, () => program(machine, { ...call, argv, signal }));
    });
    machine.units.add(name);
    machine.units.start(name);
    return 0;
  };
  return { 'systemd-run': systemdRun };
}

interface PathUnit {
  readonly machine: Machine;
  readonly path: string;
  readonly signal: Call['signal'];
}

/** Runs a program each time a file appears, as systemd does. */
async function whenever(
  { machine: { files }, path, signal }: PathUnit,
  run: () => number | Promise<number>,
): Promise<void> {
  const place = files.real(path);
  await watchFile({ files, path, signal }, () => {
    if (existsSync(place)) void run();
  });
}

/** `hostnamectl set-hostname NAME`. */
const hostnamectl: Program = (machine, call) => {
  const [verb, name] = sortWords(call.argv.slice(1)).rest;
  if (verb !== 'set-hostname' || name === undefined) return fail(call, 'Too few arguments.');
  machine.hostname = name;
  for (const path of ['/etc/hostname', '/proc/sys/kernel/hostname'])
    writeFileSync(placeFor(machine.files, path), `${name}\n`);
  return 0;
};

/** `ip -json address`: the addresses of the host in the inventory service. */
const ip: Program = ({ addresses }, call) => {
  if (!call.argv.includes('-json')) return fail(call, 'ip: only -json is in the lab');
  const infos = addresses.map((local) =>
    local.includes(':')
      ? { family: 'inet6', local, prefixlen: 64, scope: 'global', dynamic: true }
      : { family: 'inet', local, prefixlen: 24, scope: 'global', dynamic: true },
  );
  return print(call, `${JSON.stringify([{ ifindex: 2, ifname: 'eth0', addr_info: infos }])}\n`);
};

const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----';
const END = '-----END OPENSSH PRIVATE KEY-----';

const sshKeygen: Program = ({ files, name }, call) => {
  const [path] = sortWords(call.argv.slice(1), ['-f', '-N']).all('-f');
  if (path === undefined) return fail(call, 'Enter file in which to save the key: ');
  const place = files.real(path);
  if (existsSync(place)) {
    // It asks, and gets no answer.
    call.out(`${path} already exists.\nOverwrite (y/n)? `);
    return 1;
  }
  if (!existsSync(dirname(place))) {
    return fail(call, `Saving key "${path}" failed: No such file or directory`);
  }
  // The same host generates the same key each time, so that two runs can be compared.
  const seed = createHash('sha256').update(`${name}${path}`).digest('base64');
  writeFileSync(place, `${BEGIN}\n${seed}\n${END}\n`, { mode: 0o600 });
  writeFileSync(`${place}.pub`, `${publicOf(seed)} root@${name}\n`, { mode: 0o644 });
  return 0;
};

const publicOf = (seed: string): string =>
  `ssh-ed25519 ${Buffer.concat([
    Buffer.from([0, 0, 0, 11]),
    Buffer.from('ssh-ed25519'),
    Buffer.from([0, 0, 0, 32]),
    createHash('sha256').update(seed).digest(),
  ]).toString('base64')}`;

/** Programs of the running system. */
export const systemPrograms: Programs = {
  nmcli,
  nmstatectl,
  shutdown,
  uname,
  logger,
  ps,
  flock,
  free,
  getent,
  usermod,
  journalctl,
  timedatectl,
  udevadm: nothing,
  sync: nothing,
  true: nothing,
  'update-ca-trust': nothing,
  hostnamectl,
  ip,
  'ssh-keygen': sshKeygen,
};
