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
import { minutes } from '../../model/duration.ts';
import { buildsOsImages } from '../conditions.ts';
import { readUnitProperties, unitPropertiesArgv } from '../host/systemd-unit.ts';
import { callsOf, type HostScope, step } from '../step.ts';
import { earlyPools, unlessRequested, whyRelease } from './conditions.ts';
import { BuildRequest, PublishedPools } from './facts.ts';
import { readTextOr } from '../host-commands.ts';

/** Creates both units and starts the path unit, by settings of `systemd.path(5)`. */
const watchArgv = (
  { name }: typeof blockUnit,
  watch: `${'PathExists' | 'PathChanged'}=${string}`,
  command: readonly string[],
): readonly string[] => [
  ...['systemd-run', `--unit=${name}`, '--collect', `--path-property=${watch}`],
  ...command,
];

/** Starts the path unit by its command, unless an earlier run did. */
async function startWatch(
  { host, signal }: HostScope,
  { path }: typeof blockUnit,
  argv: readonly string[],
): Promise<void> {
  if ((await readUnitProperties(host, path, signal)).state === 'active') return;
  await host.exec(argv, { signal, limit: minutes(2) });
}

/**
 * Makes systemd move the file away at the moment when it appears (`systemd.path(5)`, PathExists). A
 * watch in this process would not do: the container does not share /etc of the host, and between
 * two polls the server could serve a master.
 */
const blockArgv = watchArgv(blockUnit, `PathExists=${controllerConfig}`, [
  ...['mv', '--force', controllerConfig, blockedControllerConfig],
]);

/**
 * Makes the machine-config-server of this host answer 500, after which Ignition retries, from its
 * first request until the images exist: a master that is served earlier would boot the operating
 * system of the release.
 */
export const blockConfigServer = step({
  id: 'layering/hold-config-server',
  title: 'Block the machine-config-server until the OS images are built',
  uses: ['host'],
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  limit: minutes(5),
  preview: () => [unitPropertiesArgv(blockUnit.path), blockArgv],
  run: (scope) => startWatch(scope, blockUnit, blockArgv),
});

/**
 * Makes systemd restore the image each time the pod of the bootstrap host is created again: its
 * init container renders the system of the release again, the watched file last of all, and the
 * server starts after the container has ended (machine-config-operator,
 * `manifests/bootstrap-pod-v2.yaml`). Unchanged files are not written, so that the end of the block
 * changes nothing under a running server.
 */
const keepServedArgv = (names: readonly string[]): readonly string[] =>
  watchArgv(serveUnit, `PathChanged=${controllerConfig}`, [
    ...['install', '--compare', '--mode=0644', ...names.map(servedCopy), renderedFolder],
  ]);

const folderArgv = ['install', '--directory', dirname(servedCopy(''))] as const;

/**
 * Makes the server serve the built image to the masters under the name of their rendered
 * MachineConfig. After a failure the host serves either the rendered config or the complete change:
 * each file is replaced as a whole.
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
    await host.exec(folderArgv, { signal, limit: minutes(2) });
    const texts = new Map<string, string>();
    for (const { rendered, file, final } of pools) {
      const found = await readTextOr(scope, file, () =>
        layeringFailure('layering.not-rendered', `there is no ${file}`),
      );
      const text = servedMachineConfig(found, file, final);
      // The copy comes first: from the moment of the watch, systemd may restore it.
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

/** Ends the block; systemd removes the unit with it. */
const endBlockArgv = ['systemctl', 'stop', blockUnit.path] as const;

/** Restores the file that the server needs. */
const unblockArgv = ['mv', '--force', blockedControllerConfig, controllerConfig] as const;

/** systemctl's exit code for a unit that does not exist. */
const noSuchUnit = 5;

/** Makes the machine-config-server of this host serve again, with or without the built image. */
export const unblockConfigServer = step({
  id: 'layering/release-config-server',
  title: 'Unblock the machine-config-server',
  uses: ['host'],
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  limit: minutes(5),
  preview: () => [endBlockArgv, unblockArgv],
  run: async ({ host, signal }) => {
    await host.exec(endBlockArgv, { signal, limit: minutes(2), accept: [0, noSuchUnit] });
    // Missing: it was never blocked, or an earlier run restored it.
    if ((await host.realPath(blockedControllerConfig, signal)) === undefined) return;
    await host.exec(unblockArgv, { signal, limit: minutes(2) });
  },
});
