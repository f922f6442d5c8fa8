import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ifPresent, readFileOf } from '../../adapters/file-access.ts';
import { ownNames } from '../../capi/api.ts';
import {
  installStateKeys,
  readInstallConfig,
  staleStateProblems,
} from '../../capi/install-state.ts';
import { checkManifests, manifestFindingText } from '../../capi/manifests.ts';
import {
  clusterNameOf,
  type InstallFile,
  installSecrets,
  type RenderChoices,
  type RenderedFile,
  renderedFiles,
} from '../../capi/render.ts';
import { notRead } from '../../config/files.ts';
import { flagFailure } from '../../config/failures.ts';
import { type DiskHints, givenHints, readDiskHints } from '../../settings/disk-hints.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { print, printError } from '../messages.ts';

/** Failures of the commands of Cluster API. */
export const capiFailures = {
  'capi.input-invalid': {
    kind: 'input',
    title: 'Files of an installation are not valid',
    hint: 'fix the files that the lines above name; nothing was written',
  },
  'capi.install-config-missing': {
    kind: 'input',
    title: 'A directory holds no install-config and no state of the installer',
    hint: 'give the directory of openshift-install with --dir',
  },
  'capi.not-written': {
    kind: 'host',
    title: 'Files of an installation cannot be written',
    hint: 'make room in the directory, or use a writable one',
  },
} as const satisfies FailureTable;

const capiFailure = failuresOf(capiFailures);

/** Arguments of `capi render`. */
export interface CapiRenderCall {
  readonly dir: string;
  readonly releaseImage: string;
  readonly openshiftVersion: string;
  readonly agentImage: string;
  readonly platform: string;
  /** Default: the name of the cluster. */
  readonly namespace?: string;
  readonly installDevice?: string;
  readonly rootDeviceHints?: string;
  readonly imageUrl?: string;
  readonly imageChecksum?: string;
}

/**
 * Writes the objects from which Cluster API makes a cluster, next to the installer's own manifests.
 * An existing file stays.
 * @throws AgentError `capi.install-config-missing`, `capi.input-invalid`, `capi.not-written`,
 * `config.file-not-read`, `cli.bad-flag`, `layering.malformed-file`
 */
export async function runCapiRender(call: CapiRenderCall): Promise<number> {
  const { dir, releaseImage, openshiftVersion, agentImage, installDevice } = call;
  const metal3 = metal3Of(call);
  const rootDeviceHints = hintsOf(call);
  const { config: configKey, state: stateKey } = installStateKeys;
  const [manifests, openshift, configFile, stateFile] = await Promise.all([
    filesIn(join(dir, 'manifests')),
    filesIn(join(dir, 'openshift')),
    fileIn(dir, configKey),
    fileIn(dir, stateKey),
  ]);
  const text = (file: InstallFile | undefined) => file && Buffer.from(file.content).toString();
  const given = { config: text(configFile), state: text(stateFile) };
  const config = readInstallConfig(given);
  const cluster = config === undefined ? '' : clusterNameOf(config);
  if (config === undefined || cluster === '')
    throw capiFailure(
      'capi.install-config-missing',
      `neither ${configKey} nor ${stateKey} of ${dir} has an install-config with metadata.name`,
    );
  const namespace = call.namespace ?? cluster;
  const state = [configFile, stateFile].flatMap((file) => file ?? []);
  const secrets = installSecrets({ manifests, openshift, state }, cluster, namespace);
  const paths = manifests.map(({ name }) => `manifests/${name}`);
  refuseInvalid(secrets.manifests, staleStateProblems(given, paths));
  const files: readonly RenderedFile[] = [
    { name: '06-install-config.yaml', objects: [secrets.state] },
    { name: '07-manifests.yaml', objects: secrets.manifests },
    ...renderedFiles(config, {
      releaseImage,
      distributionVersion: openshiftVersion,
      agentImage,
      namespace,
      installDevice,
      rootDeviceHints,
      metal3,
    }),
  ];
  const out = join(dir, 'infrastructure-manifests');
  const written = files
    .filter(({ objects }) => objects.length > 0)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  await mkdir(out, { recursive: true, mode: 0o700 }).catch(notWritten(out));
  for (const file of written) print(`${await writeNew(out, file)}\n`);
  for (const { name, objects } of metal3 === undefined ? written : [])
    if (/(?:kind|apiGroup): ""/.test(await readFile(join(out, name), 'utf8')))
      for (const path of objects.flatMap((object) => referencePaths(object)))
        print(`fill in ${join(out, name)}: ${path}\n`);
  return 0;
}

/**
 * The files of a folder in the order of their names; an empty list if the folder does not exist.
 */
async function filesIn(folder: string): Promise<readonly InstallFile[]> {
  const reading = readdir(folder, { withFileTypes: true });
  const entries = await ifPresent(reading).catch(notRead(folder));
  const names = (entries ?? []).filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  const files: InstallFile[] = [];
  // One file at a time: a folder may hold more files than a process may have open.
  for (const name of names.toSorted())
    files.push(...[await fileIn(folder, name)].flatMap((one) => one ?? []));
  return files;
}

/** Undefined for a missing file. A pipe is refused: reading it would not end. */
async function fileIn(folder: string, name: string): Promise<InstallFile | undefined> {
  const at = join(folder, name);
  const reading = readFileOf({ at, kind: 'manifests', whose: 'host' });
  const content = await ifPresent(reading).catch(notRead(at));
  return content && { name, content };
}

/**
 * Prints problems of the installer's own files, and the findings of manifests by file; the control
 * plane reports the latter in `ManifestsValid`.
 * @throws AgentError `capi.input-invalid`
 */
function refuseInvalid(manifests: readonly KubeObject[], problems: readonly string[]): void {
  // The user knows the folders, and not the Secrets that they become.
  const folders = manifests.map((secret): KubeObject => {
    const { annotations } = secret.metadata;
    const name = annotations?.[ownNames.manifestFolder] ?? '';
    return { ...secret, metadata: { ...secret.metadata, name } };
  });
  const findings = checkManifests(folders);
  for (const problem of problems) printError(`error: ${plainLine(problem)}\n`);
  for (const finding of findings) {
    const line = plainLine(manifestFindingText(finding));
    printError(`${finding.isWarning ? 'warning' : 'error'}: ${line}\n`);
  }
  const errors = problems.length + findings.filter(({ isWarning }) => !isWarning).length;
  if (errors > 0) throw capiFailure('capi.input-invalid', `the files have ${errors} errors`);
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

function metal3Of(call: CapiRenderCall): RenderChoices['metal3'] {
  const { platform, imageUrl, imageChecksum, installDevice, rootDeviceHints } = call;
  if (platform !== 'metal3') return undefined;
  if ((installDevice ?? rootDeviceHints) !== undefined) {
    const flag = installDevice === undefined ? '--root-device-hints' : '--install-device';
    throw flagFailure('cli.bad-flag', `${flag} is not possible with Metal3`, {
      hint: 'leave it out: hosts run from the disk that Metal3 chose, by the rootDeviceHints of the BareMetalHost',
    });
  }
  if (imageUrl !== undefined && imageChecksum !== undefined)
    return { url: imageUrl, checksum: imageChecksum };
  const missing = imageUrl === undefined ? '--image-url' : '--image-checksum';
  throw flagFailure('cli.bad-flag', `${missing} is required for Metal3`, {
    hint: 'give --image-url and --image-checksum of a CoreOS disk image in qcow2, or --platform external',
  });
}

const head = '# Written by `bootwright capi render`, which never overwrites it.\n';

const notWritten =
  (path: string) =>
  (cause: unknown): never => {
    throw capiFailure('capi.not-written', `${path} cannot be written`, { cause });
  };

/** Resolves with the result, for people. Only the owner may read a file: it may hold secrets. */
async function writeNew(folder: string, { name, objects }: RenderedFile): Promise<string> {
  const text = head + objects.map((object) => `---\n${yamlOf(object)}`).join('');
  const path = join(folder, name);
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 });
    await chmod(path, 0o600);
    return `wrote ${path}`;
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) {
      // The next run would keep a part of a file.
      await rm(path, { force: true }).catch(notWritten(path));
      return notWritten(path)(cause);
    }
    // The user edits the other files; copies of the installer's files are edited in the installer's
    // folders.
    const isCopy = /^0[67]-/.test(name) && (await readFile(path, 'utf8')) !== text;
    return isCopy ? `kept ${path}, which differs: remove it to write it again` : `kept ${path}`;
  }
}

/** The readers of these files parse YAML 1.1, in which `on` and `0644` are not strings. */
const yamlOf = (object: object): string =>
  stringify(object, { schema: 'yaml-1.1', lineWidth: 0, aliasDuplicateObjects: false });

/** Paths of the references to an infrastructure object, which only the user knows. */
function referencePaths(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]: readonly [string, unknown]) => {
    const deeper = path === '' ? key : `${path}.${key}`;
    return key === 'infrastructureRef' ? [deeper] : referencePaths(member, deeper);
  });
}
