import type { KernelArgumentChanges } from './writer-args.ts';

/** The stateroot that the node gets, beside that of the running system. */
export const stateroot = 'install';

/** Left by the live system that was made from the node image (assisted-service, `node-image`). */
const nodeImageRef = '/ostree/repo/refs/heads/coreos/node-image';

/** Pull secrets of the host. */
export const authFile = '/root/.docker/config.json';

/** Set by GRUB on the first boot; the system itself replaces it, no shell does. */
export const firstBootArgument = '$ignition_firstboot';

/** Makes the running root writable. */
export const remountArgvs = [
  ['mount', '/sysroot', '-o', 'remount,rw'],
  ['mount', '/boot', '-o', 'remount,rw'],
] as const;

/** Whether the node image of the live system is still referred to. */
export const statRefArgv = ['stat', nodeImageRef] as const;

/**
 * Lets go of the node image, so that the new system has room. The reference goes last: it is what
 * tells a later run that this is still to be done.
 */
export const dropRefArgvs = [
  ['touch', '/ostree/repo/tmp/node-image'],
  ['ostree', 'refs', '--repo', '/ostree/repo', '--delete', 'coreos/node-image'],
] as const;

/** Makes the stateroot; it fails when there is one. */
export const initStaterootArgv = ['ostree', 'admin', 'stateroot-init', stateroot] as const;

/** Puts a container image into the stateroot. */
export const deployArgv = (image: string): readonly string[] => [
  'ostree',
  'container',
  'image',
  'deploy',
  '--stateroot',
  stateroot,
  '--sysroot',
  '/',
  '--authfile',
  authFile,
  '--karg',
  firstBootArgument,
  '--karg',
  'ignition.platform.id=metal',
  '--image',
  image,
];

/** Makes a staged deployment the one that boots. */
export const finalizeArgv = ['ostree', 'admin', 'finalize-staged'] as const;

/** Prints the kernel arguments of the stateroot. */
export const listKargsArgv = ['rpm-ostree', 'kargs', '--os', stateroot] as const;

/** Changes the kernel arguments of the stateroot; undefined when there is nothing to change. */
export function kargsArgv({
  append,
  remove,
}: KernelArgumentChanges): readonly string[] | undefined {
  if (append.length + remove.length === 0) return undefined;
  return [
    ...listKargsArgv,
    ...append.flatMap((argument) => ['--append', argument]),
    ...remove.flatMap((argument) => ['--delete-if-present', argument]),
  ];
}

/** Takes the network settings of the host along. */
export const networkArgvs = [
  ['mkdir', '-p', '/boot/coreos-firstboot-network'],
  ['rsync', '-av', '/etc/NetworkManager/system-connections/', '/boot/coreos-firstboot-network/'],
] as const;

/** Puts Ignition where the first boot looks for it, and asks for a first boot. */
export const ignitionArgvs = (ignition: string): readonly (readonly string[])[] => [
  ['mkdir', '-p', '/boot/ignition'],
  ['cp', ignition, '/boot/ignition/config.ign'],
  ['touch', '/boot/ignition.firstboot'],
];
