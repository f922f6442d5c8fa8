import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { isManifestName } from '../../layering/manifests/bootstrap-manifests.ts';
import { mergePullSecrets, pullSecretIn } from '../../layering/registry/credentials.ts';
import { secretsFolder } from '../../layering/registry/staging-registry.ts';
import {
  readObjects,
  type SourceFile,
  type SourceObject,
} from '../../layering/api/source-object.ts';
import { seconds } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';

/** Folders of the manifests that bootkube renders from and applies (openshift/installer, bootkube.sh). */
export const manifestFolders = ['/opt/openshift/openshift', '/opt/openshift/manifests'] as const;

/** Every manifest of the cluster that lies on the bootstrap host. */
export async function readManifestFiles({
  host,
  signal,
}: Pick<StepScope<'host'>, 'host' | 'signal'>): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  for (const folder of manifestFolders) {
    for (const name of await host.list(folder, signal)) {
      if (!isManifestName(name)) continue;
      const path = `${folder}/${name}`;
      const text = await host.readText(path, signal);
      if (text !== undefined) files.push({ path, text });
    }
  }
  return files;
}

/**
 * Reads the one object of a kind from a manifest on the host.
 * @throws AgentError `layering.manifest-unusable`, `layering.malformed-file`, `layering.wrong-object`
 */
export async function readManifest(
  { host, signal }: StepScope<'host'>,
  { path, kind }: { readonly path: string; readonly kind: string },
): Promise<SourceObject> {
  const text = await host.readText(path, signal);
  if (text === undefined) throw unusable(path, 'is not there');
  const found = readObjects({ path, text }).filter(({ value }) => value['kind'] === kind);
  const [object] = found;
  if (object === undefined || found.length > 1) {
    throw unusable(path, `holds ${found.length} objects of kind ${kind} instead of one`);
  }
  return object;
}

const unusable = (path: string, problem: string): Error =>
  layeringFailure('layering.manifest-unusable', `${path} ${problem}`, { context: { path } });

type AuthScope = Pick<StepScope<'host'>, 'host' | 'signal'>;

/**
 * Calls `use` with a file that holds the credentials of a Secret of the manifests, and takes the file away again.
 * @throws AgentError `layering.bad-credentials`, `layering.manifest-unusable`
 */
export async function withSecretFile<T>(
  scope: StepScope<'host'>,
  { secret, name }: { readonly secret: string; readonly name: string },
  use: (authFile: string) => Promise<T>,
): Promise<T> {
  const text = pullSecretIn(await readManifest(scope, { path: secret, kind: 'Secret' }));
  return withAuthFile(scope, { name, text }, use);
}

/**
 * Calls `use` with a file of credentials that nobody but root may read, and takes it away again.
 * @throws what `use` throws
 */
export async function withAuthFile<T>(
  { host, signal }: AuthScope,
  { name, text }: { readonly name: string; readonly text: string },
  use: (authFile: string) => Promise<T>,
): Promise<T> {
  const folder = `${secretsFolder}/auth`;
  const path = `${folder}/${name}.json`;
  await host.exec(['install', '--directory', '--mode', '0700', folder], {
    signal,
    limit: seconds(20),
  });
  await host.writeFile(path, text, { signal, mode: 0o600 });
  try {
    return await use(path);
  } finally {
    const { signal: unheard } = new AbortController();
    await host.remove(path, unheard).catch(() => undefined);
  }
}

/** Where the base is pulled with. */
interface BaseCredentials {
  /** Manifest of a Secret; the pull secret of the cluster without it. */
  readonly baseSecret?: string | undefined;
}

/**
 * The credentials by which the base is pulled, with further ones beside them.
 * @throws AgentError `layering.bad-credentials`
 */
export async function pullSecretFor(
  scope: StepScope<'host'>,
  { baseSecret }: BaseCredentials,
  more: readonly string[] = [],
): Promise<string> {
  const texts = [await clusterSecret(scope)];
  if (baseSecret !== undefined) {
    const from = await readManifest(scope, { path: baseSecret, kind: 'Secret' });
    texts.push({ from: baseSecret, text: pullSecretIn(from) });
  }
  for (const path of more) texts.push({ from: path, text: await textOf(scope, path) });
  return mergePullSecrets(texts);
}

const clusterSecret = async (scope: AuthScope): Promise<{ from: string; text: string }> => ({
  from: PULL_SECRET_PATH,
  text: await textOf(scope, PULL_SECRET_PATH),
});

async function textOf({ host, signal }: AuthScope, path: string): Promise<string> {
  const text = await host.readText(path, signal);
  if (text !== undefined) return text;
  throw layeringFailure('layering.bad-credentials', `${path} is missing`);
}
