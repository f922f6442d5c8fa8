import { Buffer } from 'node:buffer';
import { decodeResource } from '../ignition/resource.ts';
import { layeringFailure } from './failures.ts';
import { kernels, packagesOfExtensions, type KernelType } from './packages.ts';
import { readImageName } from '../lib/image-name.ts';
import { isMembers, type Members, type Value } from './schema/schema.ts';
import type { SourceObject } from './source-object.ts';

/** What layering needs of a rendered MachineConfig. */
export interface MachineConfig {
  /** `rendered-<pool>-<32 hex digits>`. */
  readonly name: string;
  readonly pool: string;
  /** The image of the operating system, that others are built on. */
  readonly osImageURL: string;
  /** Image with the packages of extensions; empty when none is known. */
  readonly extensionsImage: string;
  readonly extensions: readonly string[];
  readonly kernelType: KernelType;
  /** They are set on each node and never by an image. */
  readonly kernelArguments: readonly string[];
  /** Version of the release that it was rendered for; empty when it says none. */
  readonly releaseVersion: string;
  /** The object itself, which goes into the image. */
  readonly object: Members;
}

const RENDERED = /^rendered-(?<pool>.+)-[0-9a-f]{32}$/;

/** Annotation of a rendered MachineConfig with the version of its release. */
export const releaseVersionKey = 'machineconfiguration.openshift.io/release-image-version';

/**
 * Reads a rendered MachineConfig.
 * @throws AgentError `layering.wrong-object`, `layering.machine-config-invalid`, `layering.extension-unknown`,
 * `layering.kernel-unknown`
 */
export function readMachineConfig({ value, place }: SourceObject): MachineConfig {
  const metadata = membersOf(value['metadata']);
  const name = metadata['name'];
  if (value['kind'] !== 'MachineConfig' || typeof name !== 'string') {
    throw layeringFailure(
      'layering.wrong-object',
      `${place(['kind'])}: a MachineConfig with a name is expected`,
    );
  }
  const pool = RENDERED.exec(name)?.groups?.['pool'];
  if (pool === undefined) {
    throw invalid(
      `${place(['metadata', 'name'])}: ${name} is not rendered: its name is not rendered-POOL-HASH`,
    );
  }
  const spec = membersOf(value['spec']);
  const imageAt = (member: string): string => imageIn({ value, place }, member);
  const osImageURL = imageAt('osImageURL');
  if (osImageURL === '') {
    throw invalid(`${place(['spec', 'osImageURL'])}: spec.osImageURL of ${name} names no image`);
  }
  if (typeof membersOf(membersOf(spec['config'])['ignition'])['version'] !== 'string') {
    throw invalid(`${place(['spec', 'config'])}: spec.config of ${name} is no Ignition config`);
  }
  const extensions = texts(spec['extensions']);
  packagesOfExtensions(extensions);
  return {
    name,
    pool,
    osImageURL,
    extensionsImage: imageAt('baseOSExtensionsContainerImage'),
    extensions,
    kernelType: kernelOf(text(spec['kernelType'])),
    kernelArguments: texts(spec['kernelArguments']),
    releaseVersion: text(membersOf(metadata['annotations'])[releaseVersionKey]),
    object: value,
  };
}

/** An image that the spec names; empty where it names none. What it says becomes a line of a Containerfile. */
function imageIn({ value, place }: Pick<SourceObject, 'value' | 'place'>, member: string): string {
  const named = membersOf(value['spec'])[member] ?? '';
  if (named === '' || (typeof named === 'string' && readImageName(named) !== undefined))
    return named;
  throw invalid(
    `${place(['spec', member])}: spec.${member} is ${JSON.stringify(named)}, which is not the name of an image`,
  );
}

/** Settings of the machines that also hold for the build, so that it uses their mirrors and policies. */
const BUILD_SETTINGS = ['policy.json', 'registries.conf'] as const;

/** Content of `/etc/containers/policy.json` and `registries.conf` where the MachineConfig has them, by name. */
export function buildSettings({ object }: MachineConfig): ReadonlyMap<string, string> {
  const config = membersOf(membersOf(object['spec'])['config']);
  const listed = membersOf(config['storage'])['files'];
  const files: readonly Value[] = Array.isArray(listed) ? (listed as readonly Value[]) : [];
  const found = BUILD_SETTINGS.flatMap((name) => {
    const file = files.find((one) => membersOf(one)['path'] === `/etc/containers/${name}`);
    const contents = membersOf(membersOf(file)['contents']);
    if (typeof contents['source'] !== 'string') return [];
    const compression = text(contents['compression']);
    const content = decodeResource({
      source: contents['source'],
      ...(compression === '' ? {} : { compression }),
    });
    return [[name, Buffer.from(content).toString('utf8')] as const];
  });
  return new Map(found);
}

function kernelOf(word: string): KernelType {
  const found = kernels.find((kernel) => kernel === (word === '' ? 'default' : word));
  if (found !== undefined) return found;
  throw layeringFailure('layering.kernel-unknown', `spec.kernelType ${word} is not known`);
}

const membersOf = (value: Value | undefined): Members => (isMembers(value) ? value : {});

const text = (value: Value | undefined): string => (typeof value === 'string' ? value : '');

const texts = (value: Value | undefined): readonly string[] =>
  Array.isArray(value)
    ? (value as readonly Value[]).filter((item): item is string => typeof item === 'string')
    : [];

const invalid = (message: string): Error =>
  layeringFailure('layering.machine-config-invalid', message);
