import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { isThere, placeFor, readFile, writeFile } from '../files.ts';
import type { Machine } from '../machine.ts';

const hostnamectl: Program = async (machine, call) => {
  const [verb = 'status', name] = sortWords(call.argv.slice(1)).rest;
  switch (verb) {
    case 'set-hostname':
      if (name === undefined) return fail(call, 'Too few arguments.');
      await setHostname(machine, name);
      return 0;
    case 'hostname':
      if (name === undefined) call.out(`${machine.hostname}\n`);
      else await setHostname(machine, name);
      return 0;
    case 'status':
      return print(call, `   Static hostname: ${machine.hostname}\n`);
    default:
      return fail(call, `Unknown command verb '${verb}'.`);
  }
};

async function setHostname(machine: Machine, name: string): Promise<void> {
  machine.hostname = name;
  for (const path of ['/etc/hostname', '/proc/sys/kernel/hostname']) {
    await writeFile(await placeFor(machine.files, path), `${name}\n`);
  }
}

/** `ip -json address`: the addresses that the inventory service has of the host. */
const ip: Program = ({ addresses }, call) => {
  if (!call.argv.includes('-json')) return fail(call, 'ip: only -json is in the lab');
  const infos = addresses.map((local) =>
    local.includes(':')
      ? { family: 'inet6', local, prefixlen: 64, scope: 'global', dynamic: true }
      : { family: 'inet', local, prefixlen: 24, scope: 'global', dynamic: true },
  );
  return print(call, `${JSON.stringify([{ ifindex: 2, ifname: 'eth0', addr_info: infos }])}\n`);
};

/** Programs that tell the name and the addresses of the host, and set the name. */
export const namingPrograms: Programs = { hostnamectl, ip };

const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----';
const END = '-----END OPENSSH PRIVATE KEY-----';

/** Makes a key pair, or prints the public half of a key that is there (`-y`). */
const sshKeygen: Program = async (machine, call) => {
  const words = sortWords(call.argv.slice(1), ['-f', '-N', '-t', '-b', '-C', '-P']);
  const [path] = words.all('-f');
  if (path === undefined) return fail(call, 'Enter file in which to save the key: ');
  return words.has('-y') ? printPublic(machine, call, path) : make(machine, call, path);
};

async function make({ files, name }: Machine, call: Call, path: string): Promise<number> {
  const place = await files.real(path);
  if (isThere(place)) {
    // It asks, and nobody answers.
    call.out(`${path} already exists.\nOverwrite (y/n)? `);
    return 1;
  }
  if (!isThere(dirname(place))) {
    return fail(call, `Saving key "${path}" failed: No such file or directory`);
  }
  // The same host makes the same key each time, so that two runs can be compared.
  const seed = createHash('sha256').update(`${name}${path}`).digest('base64');
  await writeFile(place, `${BEGIN}\n${seed}\n${END}\n`, { mode: 0o600 });
  await writeFile(`${place}.pub`, `${publicOf(seed)} root@${name}\n`, { mode: 0o644 });
  return 0;
}

async function printPublic({ files }: Machine, call: Call, path: string): Promise<number> {
  const text = await readFile(await files.real(path), 'utf8').catch(() => undefined);
  if (text === undefined) {
    return fail(call, `${path}: No such file or directory`, 255);
  }
  const [first, seed = '', last] = text.split('\n');
  if (first !== BEGIN || last !== END) {
    return fail(call, `Load key "${path}": error in libcrypto`, 255);
  }
  return print(call, `${publicOf(seed)}\n`);
}

const publicOf = (seed: string): string =>
  `ssh-ed25519 ${Buffer.concat([
    Buffer.from([0, 0, 0, 11]),
    Buffer.from('ssh-ed25519'),
    Buffer.from([0, 0, 0, 32]),
    createHash('sha256').update(seed).digest(),
  ]).toString('base64')}`;

/** The program that makes SSH keys. */
export const keyPrograms: Programs = { 'ssh-keygen': sshKeygen };
