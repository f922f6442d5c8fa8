import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { pullImage } from '../image-access.ts';
import type { Machine } from '../machine.ts';
import { isFrozen, waitForThaw } from './filesystems.ts';

const withValue = [
  ...['--stateroot', '--sysroot', '--authfile', '--karg', '--image', '--imgref', '--repo'],
  ...['--target-imgref', '--cert-dir'],
];

type Verb = (machine: Machine, call: Call) => number | Promise<number>;

const verbs: Readonly<Record<string, Verb>> = {
  'admin stateroot-init': ({ files }, call) => {
    const [name = ''] = call.argv.slice(3);
    // Fails like the real one if the stateroot exists.
    const place = files.real(`/ostree/deploy/${name}`);
    if (existsSync(place)) return fail(call, `error: mkdir(ostree/deploy/${name}): File exists`);
    mkdirSync(place);
    return 0;
  },
  'container image': (machine, call) => {
    const { deployments, devices, files } = machine;
    if (call.argv.includes('--help')) return 0;
    const words = sortWords(call.argv.slice(4), withValue);
    const [sysroot = ''] = words.all('--sysroot');
    if (sysroot !== '/' && !devices.mounts.some(({ target }) => target === sysroot)) {
      return fail(call, `error: opening sysroot ${sysroot}: No such file or directory`);
    }
    const [stateroot = ''] = words.all('--stateroot');
    const [image = ''] = words.all('--image', '--imgref');
    const [origin = image] = words.all('--target-imgref');
    const [authFile] = words.all('--authfile');
    const refused = refusalOf(machine, withoutScheme(image), authFile);
    if (refused !== undefined) return fail(call, `error: Preparing import: ${refused}`);
    deployments.set(stateroot, {
      image,
      origin: withoutScheme(origin),
      kernelArguments: words.all('--karg'),
      isFinal: false,
    });
    if (sysroot !== '/') {
      const folder = files.real(`${sysroot}/ostree/deploy/${stateroot}/deploy`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        `${folder}/${'c'.repeat(64)}.0.origin`,
        `[origin]\ncontainer-image-reference=${origin}\n`,
      );
      const entries = files.real(`${sysroot}/boot/loader/entries`);
      mkdirSync(entries, { recursive: true });
      const options = [...words.all('--karg'), `ostree=/ostree/boot.1/${stateroot}/c/0`];
      writeFileSync(`${entries}/ostree-2-${stateroot}.conf`, `options ${options.join(' ')}\n`);
    }
    return 0;
  },
  'admin finalize-staged': ({ deployments }) => {
    for (const deployment of deployments.values()) deployment.isFinal = true;
    return 0;
  },
  'refs --repo': ({ files }, call) => {
    const ref = call.argv.at(-1) ?? '';
    rmSync(files.real(`/ostree/repo/refs/heads/${ref}`), { force: true });
    return 0;
  },
  // Before a pull no layer of an image exists.
  'refs --repo=/ostree/repo': () => 0,
};

/** `ostree-unverified-registry:HOST/…` */
const withoutScheme = (reference: string): string => reference.replace(/^ostree-[a-z-]+:/, '');

/** The reason why an image cannot be pulled; undefined if it can. */
function refusalOf(
  machine: Machine,
  image: string,
  authFile: string | undefined,
): string | undefined {
  if (machine.images.network === undefined) return undefined;
  const found = pullImage(machine, { image, authFile });
  return typeof found === 'string' ? found : undefined;
}

const ostree: Program = (machine, call) => {
  const verb = call.argv.slice(1, 3).join(' ');
  const run = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  return run === undefined ? fail(call, `error: Unknown command '${verb}'`) : run(machine, call);
};

const getenforce: Program = ({ selinux }, call) =>
  print(call, `${selinux.isEnforcing ? 'Enforcing' : 'Permissive'}\n`);

const setenforce: Program = ({ selinux }, call) => {
  selinux.isEnforcing = call.argv[1] === '1';
  return 0;
};

const mebibyte = 2 ** 20;

/**
 * Grows a partition so that the given share of the disk stays free. It exits with 1 and NOCHANGE if
 * it gains nothing, with 2 after a failure (growpart of cloud-utils 0.33: `nochange`, `fail`, a
 * fudge of 1 MiB).
 */
const growpart: Program = ({ devices }, call) => {
  const words = sortWords(call.argv.slice(1));
  const [path = '', number = ''] = words.rest;
  const disk = devices.byPath(path);
  const partitions = disk === undefined ? [] : devices.childrenOf(disk);
  const partition = partitions.find(({ entry }) => entry?.number === Number(number));
  if (disk === undefined || partition === undefined) {
    return fail(call, `FAILED: no partition ${number} on ${path}`, 2);
  }
  const others = partitions.filter((one) => one !== partition);
  const start = mebibyte + others.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const share = 1 - Number(words.all('--free-percent')[0] ?? 0) / 100;
  const size = Math.floor((disk.sizeBytes * share) / mebibyte) * mebibyte - start - mebibyte;
  if (size - partition.sizeBytes <= mebibyte) {
    const sectors = partition.sizeBytes / 512;
    call.out(`NOCHANGE: partition ${number} is size ${sectors}. it cannot be grown\n`);
    return 1;
  }
  call.out(
    `CHANGED: partition=${number} old: size=${partition.sizeBytes / 512} new: size=${size / 512}\n`,
  );
  partition.sizeBytes = size;
  return 0;
};

const xfsGrowfs: Program = (machine, call) => {
  const [, place = ''] = call.argv;
  const mounted = machine.devices.mounts.find(({ target }) => target === place);
  if (mounted?.fstype !== 'xfs') {
    return fail(call, `xfs_growfs: ${place} is not a mounted XFS filesystem`);
  }
  return isFrozen(machine, place) ? waitForThaw(call, place) : 0;
};

/** Programs that deploy an operating system to an existing root file system. */
export const deployingPrograms: Programs = {
  ostree,
  getenforce,
  setenforce,
  growpart,
  xfs_growfs: xfsGrowfs,
};
