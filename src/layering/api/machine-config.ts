import { Buffer } from 'node:buffer';
import { decodeResource } from '../../ignition/resource.ts';
import { readImageName } from '../../lib/image-name.ts';
import { nearestName } from '../../lib/nearest.ts';
import { layeringFailure } from '../failures.ts';
import type { SourceObject } from './source-object.ts';
import { type Fields, fieldsOf, listOf, textOf, type Value } from '../../lib/fields.ts';

/** The fields of a rendered MachineConfig that layering uses. */
export interface MachineConfig {
  /** `rendered-<pool>-<32 hex digits>`. */
  readonly name: string;
  readonly pool: string;
  /** The operating system image that layered images are built on. */
  readonly osImageURL: string;
  /** Image with the packages of extensions; empty when unknown. */
  readonly extensionsImage: string;
  readonly extensions: readonly string[];
  readonly kernelType: KernelType;
  /** The node sets them at boot; an image cannot. */
  readonly kernelArguments: readonly string[];
  /** Version of the release that it was rendered for; empty where the annotation is missing. */
  readonly releaseVersion: string;
  /** The object itself, which is copied into the image. */
  readonly object: Fields;
}

const RENDERED = /^rendered-(?<pool>.+)-[0-9a-f]{32}$/;

/** Annotation of a rendered MachineConfig with the version of its release. */
export const releaseVersionKey = 'machineconfiguration.openshift.io/release-image-version';

/**
 * Annotation with the version of the controller that rendered it; the Machine Config Operator names
 * no build without both annotations.
 */
export const controllerVersionKey =
  'machineconfiguration.openshift.io/generated-by-controller-version';

/**
 * Reads a rendered MachineConfig.
 * @throws AgentError `layering.wrong-object`, `layering.machine-config-invalid`,
 * `layering.extension-unknown`, `layering.kernel-unknown`
 */
export function readMachineConfig({ value, place }: SourceObject): MachineConfig {
  const metadata = fieldsOf(value['metadata']);
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
  const spec = fieldsOf(value['spec']);
  const imageAt = (member: string): string => imageIn({ value, place }, member);
  const osImageURL = imageAt('osImageURL');
  if (osImageURL === '') {
    throw invalid(`${place(['spec', 'osImageURL'])}: spec.osImageURL of ${name} names no image`);
  }
  if (typeof fieldsOf(fieldsOf(spec['config'])['ignition'])['version'] !== 'string') {
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
    kernelType: kernelOf(textOf(spec['kernelType'])),
    kernelArguments: texts(spec['kernelArguments']),
    releaseVersion: textOf(fieldsOf(metadata['annotations'])[releaseVersionKey]),
    object: value,
  };
}

/** An image in the spec; empty where the spec has none. It becomes a line of a Containerfile. */
function imageIn({ value, place }: Pick<SourceObject, 'value' | 'place'>, member: string): string {
  const named = fieldsOf(value['spec'])[member] ?? '';
  if (named === '' || (typeof named === 'string' && readImageName(named) !== undefined))
    return named;
  throw invalid(
    `${place(['spec', member])}: spec.${member} is ${JSON.stringify(named)}, which is not the name of an image`,
  );
}

/** Files of the machines that the build uses too: registry mirrors and signature policies. */
const BUILD_SETTINGS = ['policy.json', 'registries.conf'] as const;

/**
 * Content of `/etc/containers/policy.json` and `registries.conf` where the MachineConfig has them,
 * by name.
 */
export function buildSettings({ object }: MachineConfig): ReadonlyMap<string, string> {
  const config = fieldsOf(fieldsOf(object['spec'])['config']);
  const files = listOf(fieldsOf(config['storage'])['files']);
  const found = BUILD_SETTINGS.flatMap((name) => {
    const file = files.find((one) => fieldsOf(one)['path'] === `/etc/containers/${name}`);
    const contents = fieldsOf(fieldsOf(file)['contents']);
    const { source, compression } = contents;
    if (typeof source !== 'string') return [];
    const content = decodeResource({ source, compression: textOf(compression) });
    return [[name, Buffer.from(content).toString('utf8')] as const];
  });
  return new Map(found);
}

/**
 * The kernel type of a MachineConfig; `default` where none is set.
 * @throws AgentError `layering.kernel-unknown`
 */
export function kernelOf(word: string): KernelType {
  const found = kernels.find((kernel) => kernel === (word === '' ? 'default' : word));
  if (found !== undefined) return found;
  throw layeringFailure('layering.kernel-unknown', `spec.kernelType ${word} is unknown`);
}

const texts = (value: Value | undefined): readonly string[] =>
  listOf(value).filter((item) => typeof item === 'string');

const invalid = (message: string): Error =>
  layeringFailure('layering.machine-config-invalid', message);

/**
 * Packages of each extension of a MachineConfig (Machine Config Operator, `SupportedExtensions`,
 * 2026-08). Releases before 4.22 lack the openvswitch package of ipsec, and some extensions; wasm
 * ended with 4.21.
 */
const extensionPackages: ReadonlyMap<string, readonly string[]> = new Map([
  ['ipsec', ['NetworkManager-libreswan', 'libreswan', 'openvswitch3.5-ipsec']],
  ['kerberos', ['krb5-workstation', 'libkadm5']],
  ['kernel-devel', ['kernel-devel', 'kernel-headers']],
  ['sandboxed-containers', ['kata-containers']],
  ['sysstat', ['sysstat']],
  ['two-node-ha', ['pacemaker', 'pcs', 'fence-agents-all']],
  ['usbguard', ['usbguard']],
  ['wasm', ['crun-wasm']],
]);

const kernels = ['default', 'realtime', '64k-pages'] as const;

/** Name of a kernel type. */
export type KernelType = (typeof kernels)[number];

/** Packages of each kernel. */
export const kernelPackages: Readonly<Record<KernelType, readonly string[]>> = {
  default: [
    'kernel',
    'kernel-core',
    'kernel-modules',
    'kernel-modules-core',
    'kernel-modules-extra',
  ],
  realtime: ['kernel-rt-core', 'kernel-rt-modules', 'kernel-rt-modules-extra', 'kernel-rt-kvm'],
  '64k-pages': [
    'kernel-64k-core',
    'kernel-64k-modules',
    'kernel-64k-modules-core',
    'kernel-64k-modules-extra',
  ],
};

/**
 * The packages of extensions, each once, sorted.
 * @throws AgentError `layering.extension-unknown`
 */
export function packagesOfExtensions(extensions: readonly string[]): readonly string[] {
  const packages = extensions.flatMap((extension) => {
    const found = extensionPackages.get(extension);
    if (found !== undefined) return found;
    const near = nearestName(extension, extensionPackages.keys());
    throw layeringFailure('layering.extension-unknown', `extension ${extension} is unknown`, {
      hint:
        near === undefined
          ? `spec.extensions takes ${[...extensionPackages.keys()].join(', ')}`
          : `did you mean ${near}`,
    });
  });
  return [...new Set(packages)].sort();
}
