import { existsSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { placeFor } from '../files.ts';

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

/** Programs that print the name and the addresses of the host, and set the name. */
export const namingPrograms: Programs = { hostnamectl, ip };

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

/** The program that makes SSH keys. */
export const keyPrograms: Programs = { 'ssh-keygen': sshKeygen };
