// What a host needs to run a registry of its own: addresses, certificates, room, and the container.
import { writeFile } from 'node:fs/promises';
import { type Call, fail, type Program, type Programs } from '../call.ts';
import type { Machine } from '../machine.ts';
import { sortWords } from './words.ts';

const CONTAINER = 'bootwright-registry';

/** `podman run --name bootwright-registry …`, `start` and `rm` of it; undefined for another container. */
export function registryContainer({ images }: Machine, call: Call): number | undefined {
  if (!call.argv.includes(CONTAINER)) return undefined;
  images.isServing = call.argv[1] !== 'rm';
  return 0;
}

/** `podman run … RELEASE image NAME`: the release tells the pull spec of one of its images. */
export function imageOfRelease(call: Call): number | undefined {
  const [verb, name] = call.argv.slice(-2);
  if (call.argv[1] !== 'run' || verb !== 'image') return undefined;
  call.out(`registry.example/release/${name ?? ''}@sha256:${'d'.repeat(64)}\n`);
  return 0;
}

const ip: Program = ({ addresses }, call) => {
  const [local = '192.168.126.10'] = addresses;
  const known = call.argv.includes('-6')
    ? []
    : call.argv.includes('route')
      ? [{ dst: 'default', dev: 'eth0' }]
      : [{ ifname: 'eth0', addr_info: [{ local, family: 'inet', prefixlen: 24 }] }];
  call.out(`${JSON.stringify(known)}\n`);
  return 0;
};

/** Answers for the registry of the host: it lets in whoever has credentials. */
const curl: Program = ({ images }, call) => {
  const hasCredentials = sortWords(call.argv.slice(1)).has('--config');
  if (!images.isServing) {
    call.out('000');
    return 7;
  }
  call.out(hasCredentials ? '200' : '401');
  return 0;
};

/** Writes the files that it is told to make, with its verb in them. */
const openssl: Program = async ({ files }, call) => {
  const words = sortWords(call.argv.slice(1), ['-out', '-keyout']);
  const made = words.all('-out', '-keyout');
  if (made.length === 0) return fail(call, 'openssl: nothing to make');
  for (const path of made) await writeFile(await files.real(path), `${call.argv[1] ?? ''}\n`);
  return 0;
};

const df: Program = (_machine, call) => {
  call.out(`Avail\n${100 * 2 ** 30}\n`);
  return 0;
};

const grep: Program = () => 1;

/** Programs around a registry of the host's own. */
export const ownRegistryPrograms: Programs = { ip, curl, openssl, df, grep };
