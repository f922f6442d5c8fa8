import { dirname } from 'node:path/posix';
import { controllerConfig, renderedFolder, servedCopy } from '../../layering/manifests/delivery.ts';
import { servedMachineConfig } from '../../layering/manifests/served-machine-config.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { unitStateArgv } from '../cluster/systemd-unit.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, PublishedImages, type RenderedConfig, RenderedConfigs } from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { pathUnit, startWatch, watchArgv } from './path-unit.ts';
import { unlessServed } from './skips.ts';

/** The machine-config-server of a bootstrap host serves no other pools (machine-config-operator, `pkg/server`). */
const servedPools = ['master', 'arbiter'];

const unit = pathUnit('bootwright-serve');

/** The unit of systemd that waits for another rendering. */
export const servePathUnit = unit.path;

/** The unit that puts the image back into what was rendered. */
export const serveServiceUnit = unit.service;

/**
 * Lets systemd put the image back whenever the pod of the bootstrap host is made anew: its init container renders
 * the system of the release again, the file that is watched last of all, and the server starts after it has ended
 * (machine-config-operator, `manifests/bootstrap-pod-v2.yaml`). What is the same is not touched, so that the release
 * of the hold changes nothing under a server that runs.
 */
export const keepServedArgv = (names: readonly string[]): readonly string[] =>
  watchArgv(unit, `PathChanged=${controllerConfig}`, [
    ...['install', '--compare', '--mode=0644', ...names.map(servedCopy), renderedFolder],
  ]);

const folderArgv = ['install', '--directory', dirname(servedCopy(''))] as const;

/**
 * Lets the masters be served the built image under the name of their rendered MachineConfig. A host where this
 * fails serves what was rendered, or all of the change: each file is replaced as a whole.
 */
export const serveImages = step({
  id: 'layering/serve-images',
  title: 'Put the built image into what the masters are served',
  uses: ['host'],
  needs: { order: OsImageOrder, rendered: RenderedConfigs, published: PublishedImages },
  when: buildsOsImages,
  skipIf: unlessServed,
  limit: minutes(5),
  preview: () => [folderArgv, unitStateArgv(servePathUnit), keepServedArgv(['<rendered config>'])],
  run: async (scope, { rendered, published }) => {
    if (published.kind === 'stock') return;
    const served = published.images.flatMap(({ pool, final }) => {
      const config = rendered.find((one) => one.pool === pool);
      return config !== undefined && servedPools.includes(pool) ? [{ config, final }] : [];
    });
    if (served.length === 0) return;
    const { host, signal } = scope;
    await host.exec(folderArgv, { signal, limit: seconds(30) });
    const texts: ServedText[] = [];
    for (const { config, final } of served) texts.push(await keepCopy(scope, config, final));
    await startWatch(scope, unit, keepServedArgv(served.map(({ config }) => config.name)));
    for (const one of texts) await serve(scope, one);
  },
});

interface ServedText {
  readonly file: string;
  readonly text: string;
}

/** The copy comes first: from the moment when systemd watches there is something to be put back. */
async function keepCopy(
  { host, signal }: StepScope<'host'>,
  { file, name }: RenderedConfig,
  image: string,
): Promise<ServedText> {
  const found = await host.readText(file, signal);
  if (found === undefined) {
    throw layeringStepFailure('layering.not-rendered', `there is no ${file}`);
  }
  const text = servedMachineConfig(found, { image, path: file });
  await host.writeFile(servedCopy(name), text, { signal, mode: 0o644 });
  return { file, text };
}

async function serve(
  { host, signal }: StepScope<'host'>,
  { file, text }: ServedText,
): Promise<void> {
  await host.writeFile(file, text, { signal, mode: 0o644 });
  if ((await host.readText(file, signal)) === text) return;
  throw layeringStepFailure('layering.not-served', `${file} does not hold what was written`);
}
