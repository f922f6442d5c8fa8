import { type Millis, hours, minutes, seconds } from '../../model/duration.ts';
import type { CommandResult } from '../../ports/host.ts';
import { usesExistingRoot } from '../conditions.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { step, type StepScope } from '../step.ts';
import * as root from './existing-root.ts';
import { WrittenImage } from './facts.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { copiesNetwork, kernelArgumentChanges, missingChanges } from './writer-args.ts';
import { proxyEnv } from '../host-commands.ts';

type RootScope = StepScope<'host' | 'clock'>;

const deployLimit = hours(1);

/**
 * Installs into the root that the host runs from: a container image becomes a deployment in a
 * stateroot of its own. What an earlier attempt has done is found and left, so it may run again.
 */
export const deployToExistingRoot = step({
  id: 'image/deploy-to-existing-root',
  title: 'Deploy the operating system into the running root',
  stage: 'Writing image to disk',
  uses: ['host', 'clock'],
  needs: { ignition: HostIgnition },
  gives: WrittenImage,
  when: usesExistingRoot,
  destroys: true,
  retry: { attempts: 3, every: seconds(1) },
  limit: hours(4),
  explain: ({ image }) => `${image.existingRoot}, without a disk write`,
  preview: ({ image }, { ignition }) => {
    const kargs = root.kargsArgv(kernelArgumentChanges(image.writerArgs));
    return [
      ...root.remountArgvs,
      root.statRefArgv,
      ...root.dropRefArgvs,
      root.initStaterootArgv,
      root.deployArgv(image.existingRoot),
      root.finalizeArgv,
      ...(kargs === undefined ? [] : [root.listKargsArgv, kargs, root.finalizeArgv]),
      ...(copiesNetwork(image.writerArgs) ? root.networkArgvs : []),
      ...root.ignitionArgvs(ignition.path),
    ];
  },
  run: async (scope, { ignition }) => {
    const { config } = scope;
    const { existingRoot, writerArgs } = config.image;
    await each(scope, root.remountArgvs);
    await dropNodeImage(scope);
    await ensureStateroot(scope);
    await withHeartbeat('deploying', scope, () =>
      exec(scope, root.deployArgv(existingRoot), deployLimit),
    );
    await exec(scope, root.finalizeArgv);
    await changeKargs(scope);
    if (copiesNetwork(writerArgs)) await each(scope, root.networkArgvs);
    await each(scope, root.ignitionArgvs(ignition.path));
    return { disk: '/sysroot' };
  },
});

const exec = (
  { host, signal, config }: RootScope,
  argv: readonly string[],
  limit: Millis = minutes(5),
): Promise<CommandResult> => host.exec(argv, { signal, limit, env: proxyEnv(config.proxy) });

async function each(scope: RootScope, argvs: readonly (readonly string[])[]): Promise<void> {
  for (const argv of argvs) await exec(scope, argv);
}

async function dropNodeImage(scope: RootScope): Promise<void> {
  const { host, signal } = scope;
  const { exitCode } = await host.exec(root.statRefArgv, {
    signal,
    limit: seconds(30),
    accept: [0, 1],
  });
  if (exitCode === 0) await each(scope, root.dropRefArgvs);
}

async function ensureStateroot(scope: RootScope): Promise<void> {
  const known = await scope.host.list('/ostree/deploy', scope.signal);
  if (!known.includes(root.stateroot)) await exec(scope, root.initStaterootArgv);
}

async function changeKargs(scope: RootScope): Promise<void> {
  const wanted = kernelArgumentChanges(scope.config.image.writerArgs);
  if (root.kargsArgv(wanted) === undefined) return;
  const { stdout } = await exec(scope, root.listKargsArgv);
  const argv = root.kargsArgv(missingChanges(wanted, stdout.split(/\s+/)));
  if (argv === undefined) return;
  await exec(scope, argv);
  await exec(scope, root.finalizeArgv);
}
