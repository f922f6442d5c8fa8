import { dirname } from 'node:path';
import { fail, type Program, type Programs } from '../call.ts';
import type { Machine } from '../machine.ts';
import { mkdir, writeFile } from '../prompt-files.ts';
import { sortWords } from './words.ts';

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
      call.out(`   Static hostname: ${machine.hostname}\n`);
      return 0;
    default:
      return fail(call, `Unknown command verb '${verb}'.`);
  }
};

async function setHostname(machine: Machine, name: string): Promise<void> {
  machine.hostname = name;
  for (const path of ['/etc/hostname', '/proc/sys/kernel/hostname']) {
    const place = await machine.files.real(path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, `${name}\n`);
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
  call.out(`${JSON.stringify([{ ifindex: 2, ifname: 'eth0', addr_info: infos }])}\n`);
  return 0;
};

/** Programs that tell the name and the addresses of the host, and set the name. */
export const namingPrograms: Programs = { hostnamectl, ip };
