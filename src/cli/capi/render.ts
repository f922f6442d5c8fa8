import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { checkManifests, checkReferences } from '../../capi/manifests.ts';
import { ownNames } from '../../capi/api.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { installConfigText } from '../../capi/install-state.ts';
import {
  type InstallFolder,
  installSettings,
  type RenderChoices,
  type RenderedFile,
  renderedFiles,
  wrappedSecrets,
} from '../../capi/render.ts';
import { type DiskHints, givenHints, readDiskHints } from '../../lib/disk-hints.ts';
import { flagFailure } from '../../config/failures.ts';
import { readObjects } from '../../layering/api/source-object.ts';
import { print } from '../messages.ts';
import {
  capiFailure,
  fileFinding,
  type FileFinding,
  infrastructureFolder,
  readInstallFolder,
  refuseFindings,
  stateFindings,
} from './folder.ts';

/** Arguments of `capi render`. */
export interface CapiRenderCall {
  readonly dir: string;
  readonly releaseImage: string;
  readonly openshiftVersion: string;
  readonly agentImage: string;
  readonly platform: string;
  /** That of the cluster unless given. */
  readonly namespace?: string;
  readonly installDevice?: string;
  readonly rootDeviceHints?: string;
  readonly imageUrl?: string;
  readonly imageChecksum?: string;
}

/**
 * Writes what Cluster API makes a cluster from beside the installer's own manifests; a file that is
 * there stays.
 * @throws AgentError `capi.install-config-missing`, `capi.input-invalid`, `capi.not-written`,
 * `config.file-not-read`, `cli.bad-flag`
 */
export async function runCapiRender(call: CapiRenderCall): Promise<number> {
  const metal3 = metal3Of(call);
  const rootDeviceHints = hintsOf(call);
  const folder = await readInstallFolder(call.dir);
  const settings = readSettings(folder);
  const { releaseImage, openshiftVersion, agentImage, installDevice } = call;
  const choices: RenderChoices = {
    releaseImage,
    distributionVersion: openshiftVersion,
    agentImage,
    namespace: call.namespace ?? settings.name,
    ...(installDevice === undefined ? {} : { installDevice }),
    ...(rootDeviceHints === undefined ? {} : { rootDeviceHints }),
    ...(metal3 === undefined ? {} : { metal3 }),
  };
  const { namespace } = choices;
  const [state, ...manifests] = wrappedSecrets(folder, { cluster: settings.name, namespace });
  refuseFindings(manifestFindings(manifests));
  const [first, pull, ...rest] = renderedFiles(settings, choices);
  const files = [
    ...[first, pull].flatMap((file) => file ?? []),
    ...(state === undefined ? [] : [{ name: '06-install-config.yaml', objects: [state] }]),
    ...(manifests.length === 0 ? [] : [{ name: '07-manifests.yaml', objects: manifests }]),
    ...rest,
  ];
  const out = join(call.dir, infrastructureFolder);
  for (const file of files) print(`${await writeNew(out, file)}\n`);
  if (metal3 === undefined)
    for (const line of referencesToFill(files)) print(`fill in ${join(out, line)}\n`);
  return 0;
}

/**
 * Findings of the files of manifests and openshift, as the control plane has them in
 * `ManifestsValid`.
 */
function manifestFindings(manifests: readonly KubeObject[]): readonly FileFinding[] {
  const own = checkManifests(manifests);
  const isRight = own.every(({ isWarning }) => isWarning === true);
  const all = isRight ? [...own, ...checkReferences(manifests)] : own;
  const folders = new Map(
    manifests.map(({ metadata: { name, annotations } }) => [
      name,
      annotations?.[ownNames.manifestFolder] ?? '',
    ]),
  );
  return all.map((finding) => fileFinding(folders.get(finding.secret) ?? '', finding));
}

function hintsOf({ rootDeviceHints, installDevice }: CapiRenderCall): DiskHints | undefined {
  if (rootDeviceHints === undefined) return undefined;
  const read = readDiskHints(rootDeviceHints);
  if ('hints' in read && givenHints(read.hints).length > 0 && installDevice === undefined)
    return read.hints;
  const mistake = 'mistake' in read ? read.mistake : 'give it, or --install-device';
  throw flagFailure('cli.bad-flag', `--root-device-hints: ${mistake}`, {
    hint: 'write NAME=VALUE,NAME=VALUE, minSizeGigabytes=400,rotational=false for example',
  });
}

function metal3Of({ platform, imageUrl, imageChecksum }: CapiRenderCall): RenderChoices['metal3'] {
  if (platform !== 'metal3') return undefined;
  if (imageUrl !== undefined && imageChecksum !== undefined)
    return { url: imageUrl, checksum: imageChecksum };
  const missing = imageUrl === undefined ? '--image-url' : '--image-checksum';
  throw flagFailure('cli.bad-flag', `${missing} is required for Metal3`, {
    hint: 'give --image-url and --image-checksum of a CoreOS disk image in qcow2, or --platform external',
  });
}

function readSettings(folder: InstallFolder) {
  const textOf = (bytes: Uint8Array | undefined): string | undefined =>
    bytes && Buffer.from(bytes).toString('utf8');
  const owner = { cluster: 'cluster', namespace: 'namespace' };
  const [secret] = wrappedSecrets({ ...folder, manifests: [], openshift: [] }, owner);
  if (secret !== undefined) refuseFindings(stateFindings(secret));
  const [config, state] = [textOf(folder.installConfig), textOf(folder.state)];
  const file = installConfigText({
    ...(config === undefined ? {} : { config }),
    ...(state === undefined ? {} : { state }),
  });
  const [object] = file === undefined ? [] : readObjects(file, 'an install-config');
  if (object !== undefined) return installSettings(object.value);
  throw capiFailure(
    'capi.install-config-missing',
    'the state of the installer holds no install-config',
  );
}

const head = '# Written by `bootwright capi render`, which never overwrites it.\n';

/** What becomes of a file, in words. Its pull secret is nobody else's. */
async function writeNew(folder: string, { name, objects }: RenderedFile): Promise<string> {
  const text = objects.map((object) => `---\n${yamlOf(object)}`).join('');
  const path = join(folder, name);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(path, head + text, { flag: 'wx', mode: 0o600 });
    await chmod(path, 0o600);
    return `wrote ${path}`;
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'))
      throw capiFailure('capi.not-written', `${path} cannot be written`, { cause });
    // What is edited there is the user's; the files of the installer are edited in their own
    // folders.
    const isCopy = /^0[67]-/.test(name) && (await readFile(path, 'utf8')) !== head + text;
    return isCopy ? `kept ${path}, which differs: remove it to write it again` : `kept ${path}`;
  }
}

/** Read as YAML 1.1 by whoever applies it, where `on` and `0644` are no strings. */
const yamlOf = (object: object): string =>
  stringify(object, { schema: 'yaml-1.1', lineWidth: 0, aliasDuplicateObjects: false });

/** What names an infrastructure that only the user knows. */
const referencesToFill = (files: readonly RenderedFile[]): readonly string[] =>
  files.flatMap(({ name, objects }) =>
    objects.flatMap((object) => referencePaths(object).map((path) => `${name}: ${path}`)),
  );

function referencePaths(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]: readonly [string, unknown]) => {
    const deeper = path === '' ? key : `${path}.${key}`;
    return key === 'infrastructureRef' ? [deeper] : referencePaths(member, deeper);
  });
}
