import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import type { CommandResult } from '../../ports/host.ts';
import { usesExistingRoot } from '../conditions.ts';
import { kernelArgumentsIn, isTrue } from '../host-commands.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { step, type StepScope } from '../step.ts';
import { asksForChange } from '../../os/kernel-arguments.ts';
import { rpmOstreeArgumentsArgv, rpmOstreeChangeArgv } from '../../os/rpm-ostree.ts';
import { authFile, deployFailure, firstBootArgument } from './deploy-final.ts';
import { networkFolder } from './choose.ts';
import { WrittenImage } from './facts.ts';
import { withHeartbeat } from '../heartbeat.ts';
import type { WriterUse } from '../../settings/writer-args.ts';
import { kernelArgumentChanges, readWriterSetup, usesIn, valueOf } from '../disk/writer-args.ts';

type RootScope = StepScope<'host' | 'clock'>;

const deployLimit = hours(1);

/**
 * Installs into the root file system that the host runs from: a container image becomes a
 * deployment in a stateroot of its own. The step detects completed actions of an earlier attempt
 * and skips them, so it may run again.
 */
export const deployToExistingRoot = step({
  id: 'image/deploy-to-existing-root',
  title: 'Deploy the operating system into the running root',
  stage: 'Writing image to disk',
  uses: ['host', 'clock'],
  needs: { ignition: HostIgnition },
  gives: WrittenImage,
  when: usesExistingRoot,
  effect: 'destroys',
  retry: { attempts: 3, every: seconds(1) },
  limit: hours(4),
  explain: ({ image }) => `${image.existingRoot}, without a disk write`,
  preview: ({ image }, { ignition }) => {
    const uses = usesIn(image.writerArgs);
    const wanted = kernelArgumentChanges(uses);
    const kargs = rpmOstreeChangeArgv(wanted.remove, wanted, { stateroot });
    return [
      ...remountArgvs,
      statRefArgv,
      ...dropRefArgvs,
      initStaterootArgv,
      deployArgv(image.existingRoot),
      finalizeArgv,
      ...(kargs === undefined ? [] : [listKargsArgv, kargs, finalizeArgv]),
      ...networkArgvs(uses),
      ...ignitionArgvs(ignition.path),
    ];
  },
  run: async (scope, { ignition }) => {
    const { config, signal } = scope;
    const { existingRoot } = config.image;
    const { uses } = await readWriterSetup(scope);
    await runAll(scope, remountArgvs);
    if (await isTrue(scope, statRefArgv)) await runAll(scope, dropRefArgvs);
    const known = await scope.host.list('/ostree/deploy', scope.signal);
    if (!known.includes(stateroot)) await exec(scope, initStaterootArgv);
    try {
      await withHeartbeat('deploying', scope, () =>
        exec(scope, deployArgv(existingRoot), deployLimit),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw deployFailure(error, existingRoot);
    }
    await exec(scope, finalizeArgv);
    await changeKargs(scope, uses);
    await runAll(scope, networkArgvs(uses));
    await runAll(scope, ignitionArgvs(ignition.path));
    return { disk: '/sysroot' };
  },
});

const exec = (
  { host, signal }: RootScope,
  argv: readonly string[],
  limit: Millis = minutes(5),
): Promise<CommandResult> => host.exec(argv, { signal, limit });

async function runAll(scope: RootScope, argvs: readonly (readonly string[])[]): Promise<void> {
  for (const argv of argvs) await exec(scope, argv);
}

/**
 * Applies the kernel argument changes of the coreos-installer arguments that are not applied yet.
 */
async function changeKargs(scope: RootScope, uses: readonly WriterUse[]): Promise<void> {
  const wanted = kernelArgumentChanges(uses);
  if (!asksForChange(wanted)) return;
  const { stdout } = await exec(scope, listKargsArgv);
  const present = kernelArgumentsIn('rpm-ostree', stdout);
  const append = wanted.append.filter((argument) => !present.includes(argument));
  const remove = wanted.remove.filter((argument) => present.includes(argument));
  const argv = rpmOstreeChangeArgv(present, { append, remove }, { stateroot });
  if (argv === undefined) return;
  await exec(scope, argv);
  await exec(scope, finalizeArgv);
}

/** The stateroot of the node, next to the stateroot of the running system. */
const stateroot = 'install';

/** A ref of the live system that was made from the node image (assisted-service, `node-image`). */
const nodeImageRef = '/ostree/repo/refs/heads/coreos/node-image';

const remountArgvs = [
  ['mount', '/sysroot', '-o', 'remount,rw'],
  ['mount', '/boot', '-o', 'remount,rw'],
] as const;

/** Tests whether the ref of the node image in the live system still exists. */
const statRefArgv = ['stat', nodeImageRef] as const;

/**
 * Removes the node image, so that the new system has room. The ref is removed last: as long as it
 * exists, a later run removes the node image again.
 */
const dropRefArgvs = [
  ['touch', '/ostree/repo/tmp/node-image'],
  ['ostree', 'refs', '--repo', '/ostree/repo', '--delete', 'coreos/node-image'],
] as const;

/** Creates the stateroot; fails if it exists. */
const initStaterootArgv = ['ostree', 'admin', 'stateroot-init', stateroot] as const;

const deployArgv = (image: string): readonly string[] => [
  ...['ostree', 'container', 'image', 'deploy', '--stateroot', stateroot, '--sysroot', '/'],
  ...['--authfile', authFile, '--karg', firstBootArgument],
  ...['--karg', 'ignition.platform.id=metal', '--image', image],
];

/** Finalizes a staged deployment, so that it is booted. */
const finalizeArgv = ['ostree', 'admin', 'finalize-staged'] as const;

const listKargsArgv = rpmOstreeArgumentsArgv({ stateroot });

/** Copies the network settings of the host if coreos-installer would do so. */
function networkArgvs(uses: readonly WriterUse[]): readonly (readonly string[])[] {
  if (!uses.some(({ option }) => option === 'copy-network')) return [];
  const folder = valueOf(uses, 'network-dir') ?? networkFolder;
  const content = folder.endsWith('/') ? folder : `${folder}/`;
  return [
    ['mkdir', '-p', '/boot/coreos-firstboot-network'],
    ['rsync', '-av', content, '/boot/coreos-firstboot-network/'],
  ];
}

/** Puts the Ignition config at its path for the first boot, and requests a first boot. */
const ignitionArgvs = (ignition: string): readonly (readonly string[])[] => [
  ['mkdir', '-p', '/boot/ignition'],
  ['cp', ignition, '/boot/ignition/config.ign'],
  ['touch', '/boot/ignition.firstboot'],
];
