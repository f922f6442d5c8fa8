import { minutes, seconds } from '../../model/duration.ts';
import {
  isOsConfigOf,
  readableDocuments,
  registrySecretOf,
  withoutDocuments,
} from '../../layering/manifests/bootstrap-manifests.ts';
import type { SourceFile, SourceObject } from '../../layering/source-object.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder } from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { readManifestFiles } from './manifest-files.ts';

const folder = '/opt/openshift/bootwright-layering';
const osConfigs = `${folder}/os-configs`;
const secrets = `${folder}/secrets`;

/** What waits: MachineOSConfigs, and copies of the Secrets that they name. */
export const stashFolders = { osConfigs, secrets } as const;

/** Where the MachineOSConfig of a pool lies until it is handed over. */
export const stashedPath = (pool: string): string => `${osConfigs}/${pool}.yaml`;

/** Where a copy of a Secret lies, and nothing else beside it. */
export const stashedSecret = (name: string): string => `${secrets}/${name}.yaml`;

/** Makes the folders of what waits; credentials lie in one. */
export const stashFoldersArgv = [
  ...['install', '--directory', '--mode', '0700', folder, osConfigs, secrets],
] as const;

/**
 * Takes the MachineOSConfigs out of the manifests: the bootstrap controller of 4.21 and newer refuses one that
 * names no image yet, and with it all MachineConfigs; a cluster of an older release would begin to build by itself.
 * The Secrets that they name stay, and are copied.
 */
export const stashOsConfigs = step({
  id: 'layering/stash-os-configs',
  title: 'Keep the MachineOSConfigs until their images are built',
  uses: ['host'],
  needs: { order: OsImageOrder },
  when: buildsOsImages,
  skipIf: ({ order }) => (order.kind === 'off' ? order.why : undefined),
  limit: minutes(5),
  preview: () => [stashFoldersArgv],
  run: async (scope, { order }) => {
    if (order.kind === 'off') return;
    const { host, signal } = scope;
    await host.exec(stashFoldersArgv, { signal, limit: seconds(20) });
    for (const { pool, osConfig, pushSecret, baseSecret } of order.pools) {
      for (const path of [pushSecret, baseSecret])
        if (path !== undefined) await copySecret(scope, path);
      await stash(scope, { isWanted: isOsConfigOf(pool), to: osConfig });
    }
  },
});

type IsWanted = (object: SourceObject) => boolean;

async function stash(
  scope: StepScope<'host'>,
  { isWanted, to }: { readonly isWanted: IsWanted; readonly to: string },
): Promise<void> {
  const { host, signal } = scope;
  const found = await find(scope, isWanted);
  if (found === undefined) {
    await requireStashed(scope, to);
    return;
  }
  // Written first and taken away then, so that it is always in one place at least.
  await host.writeFile(to, found.text, { signal, mode: 0o600 });
  const rest = withoutDocuments(found.file, isWanted);
  if (rest === '') await host.remove(found.file.path, signal);
  else await host.writeFile(found.file.path, rest, { signal, mode: 0o600 });
}

async function copySecret(scope: StepScope<'host'>, to: string): Promise<void> {
  const found = await find(
    scope,
    ({ value }) => stashedSecret(registrySecretOf(value)?.name ?? '') === to,
  );
  if (found === undefined) await requireStashed(scope, to);
  else await scope.host.writeFile(to, found.text, { signal: scope.signal, mode: 0o600 });
}

async function find(
  scope: StepScope<'host'>,
  isWanted: IsWanted,
): Promise<{ readonly file: SourceFile; readonly text: string } | undefined> {
  for (const file of await readManifestFiles(scope)) {
    const found = readableDocuments(file).find(({ object }) => isWanted(object));
    if (found !== undefined) return { file, text: found.text };
  }
  return undefined;
}

/** An earlier run may have come so far. */
async function requireStashed({ host, signal }: StepScope<'host'>, path: string): Promise<void> {
  if ((await host.readText(path, signal)) !== undefined) return;
  throw layeringStepFailure('layering.not-stashed', `${path} is not there, nor its manifest`);
}
