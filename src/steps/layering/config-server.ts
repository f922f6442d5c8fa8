import { dirname } from 'node:path/posix';
import { layeringFailure } from '../../layering/failures.ts';
import {
  blockedControllerConfig,
  blockUnit,
  controllerConfig,
  renderedFolder,
  servedCopy,
  serveUnit,
} from '../../layering/manifests/bootstrap-files.ts';
import { servedMachineConfig } from '../../layering/manifests/served-machine-config.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { buildsOsImages } from '../conditions.ts';
import { unitState, unitStateArgv } from '../host/systemd-unit.ts';
import { callsOf, type HostScope, step } from '../step.ts';
import { earlyPools, unlessRequested, whyRelease } from './conditions.ts';
import { BuildRequest, PublishedPools } from './facts.ts';
import { readTextOr } from '../host-commands.ts';

/** Makes both units and starts the watch, a setting of `systemd.path(5)`. */
const watchArgv = (
  { name }: typeof blockUnit,
  watch: `${'PathExists' | 'PathChanged'}=${string}`,
  command: readonly string[],
): readonly string[] => [
  ...['systemd-run', `--unit=${name}`, '--collect', `--path-property=${watch}`],
  ...command,
];

/** Starts the watch by its command, unless an earlier run did. */
async function startWatch(
  { host, signal }: HostScope,
  { path }: typeof blockUnit,
  argv: readonly string[],
): Promise<void> {
  if ((await unitState(host, path, signal)) === 'active') return;
  await host.exec(argv, { signal, limit: seconds(60) });
}

/**
 * Lets systemd move the file away at the moment when it is there (`systemd.path(5)`, PathExists).
 * No watch of our own would do: /etc of the host is not shared with a container, and between two
 * looks a master could be served.
 */
const blockArgv = watchArgv(blockUnit, `PathExists=${controllerConfig}`, [
  ...['mv', '--force', controllerConfig, blockedControllerConfig],
]);

/**
 * Has the machine-config-server of this host answer 500, which Ignition asks again after, from its
 * first request until the images are there: a master that is served before would boot the operating
 * system of the release.
 */
export const blockConfigServer = step({
  id: 'layering/hold-config-server',
  title: 'Block the machine-config-server until the OS images are built',
  uses: ['host'],
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  limit: minutes(3),
  preview: () => [unitStateArgv(blockUnit.path), blockArgv],
  run: (scope) => startWatch(scope, blockUnit, blockArgv),
});

/**
 * Lets systemd put the image back whenever the pod of the bootstrap host is created again: its init
 * container renders the system of the release again, the file that is watched last of all, and the
 * server starts after it has ended (machine-config-operator, `manifests/bootstrap-pod-v2.yaml`).
 * What is the same is not touched, so that the release of the hold changes nothing under a server
 * that runs.
 */
const keepServedArgv = (names: readonly string[]): readonly string[] =>
  watchArgv(serveUnit, `PathChanged=${controllerConfig}`, [
    ...['install', '--compare', '--mode=0644', ...names.map(servedCopy), renderedFolder],
  ]);

const folderArgv = ['install', '--directory', dirname(servedCopy(''))] as const;

/**
 * Lets the masters be served the built image under the name of their rendered MachineConfig. A host
 * where this fails serves what was rendered, or all of the change: each file is replaced as a
 * whole.
 */
export const serveImages = step({
  id: 'layering/serve-images',
  title: 'Serve the built OS image to the masters',
  uses: ['host'],
  needs: { published: PublishedPools },
  when: buildsOsImages,
  skipIf: ({ published }) => whyRelease(published),
  limit: minutes(5),
  preview: () => callsOf('install', 'systemctl', 'systemd-run'),
  run: async (scope, { published }) => {
    // The machine-config-server of a bootstrap host serves no other pools (machine-config-operator,
    // `pkg/server`).
    const pools = earlyPools(published);
    if (pools.length === 0) return;
    const { host, signal } = scope;
    await host.exec(folderArgv, { signal, limit: seconds(30) });
    const texts = new Map<string, string>();
    for (const { rendered, file, final } of pools) {
      const found = await readTextOr(scope, file, () =>
        layeringFailure('layering.not-rendered', `there is no ${file}`),
      );
      const text = servedMachineConfig(found, file, final);
      // The copy comes first: from the moment when systemd watches it may be put back.
      await host.writeFile(servedCopy(rendered), text, { signal, mode: 0o644 });
      texts.set(file, text);
    }
    const names = pools.map(({ rendered }) => rendered);
    await startWatch(scope, serveUnit, keepServedArgv(names));
    for (const [file, text] of texts) {
      await host.writeFile(file, text, { signal, mode: 0o644 });
      if ((await host.readText(file, signal)) === text) continue;
      throw layeringFailure('layering.not-served', `${file} does not hold what was written`);
    }
  },
});

/** Ends the block; systemd forgets the unit with it. */
const endBlockArgv = ['systemctl', 'stop', blockUnit.path] as const;

/** Puts the file back that the server cannot do without. */
const unblockArgv = ['mv', '--force', blockedControllerConfig, controllerConfig] as const;

/** systemctl's answer for a unit that does not exist. */
const noSuchUnit = 5;

/** Lets the machine-config-server of this host serve, with the built image or without. */
export const unblockConfigServer = step({
  id: 'layering/release-config-server',
  title: 'Unblock the machine-config-server',
  uses: ['host'],
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  limit: minutes(3),
  preview: () => [endBlockArgv, unblockArgv],
  run: async ({ host, signal }) => {
    await host.exec(endBlockArgv, { signal, limit: seconds(60), accept: [0, noSuchUnit] });
    // Not there: it was never blocked, or an earlier run has put it back.
    if ((await host.realPath(blockedControllerConfig, signal)) === undefined) return;
    await host.exec(unblockArgv, { signal, limit: seconds(30) });
  },
});
