import { createHash } from 'node:crypto';
import { refuseErrors } from '../../ignition/finding.ts';
import { mergeConfigs } from '../../ignition/merge.ts';
import { parseMachineConfig, parseValidConfig, renderConfig } from '../../ignition/parse.ts';
import type { Config } from '../../ignition/types.ts';
import { validateConfig } from '../../ignition/validate.ts';
import { specVersion } from '../../ignition/version.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, listAt, partOf, textAt, ownersOf } from '../api/cluster-object.ts';
import { renderedNameOf } from '../api/machine-config-pool.ts';
import {
  controllerVersionKey,
  readMachineConfig,
  releaseVersionKey,
} from '../api/machine-config.ts';
import { meantSpec } from '../api/meaning.ts';
import { type Fields, fieldsOf, isFields } from '../api/schema.ts';
import { layeringFailure } from '../failures.ts';
import { isSelectedBy } from '../hand-over/pool-status.ts';
import { lineless } from '../api/source-object.ts';

/** What the MachineConfigs of a pool come to, or why they come to nothing. */
export type Rendering =
  | { readonly config: KubeObject; readonly sources: readonly string[] }
  | {
      readonly reason: string;
      /** Nothing is wrong with them: what they are rendered with is not there. */
      readonly isIncomplete?: true;
    };

const apiVersion = 'machineconfiguration.openshift.io/v1';
const roleLabel = 'machineconfiguration.openshift.io/role';

/**
 * Renders the MachineConfigs that a pool selects, by the rules of the Machine Config Operator (`MergeMachineConfigs`).
 * The rendered MachineConfig that the pool has stays where it means the same: a pool that the operator has left rolls
 * out nothing. Another is named by a sum over its meaning. It is not the sum of the operator, which would render other
 * MachineConfigs along with these.
 * @param release the ControllerConfig of the operator, which has the images that no MachineConfig names
 */
export function renderPool(
  pool: KubeObject,
  machineConfigs: readonly KubeObject[],
  release?: KubeObject,
): Rendering {
  const chosen = sourcesOf(pool, machineConfigs);
  if (chosen.length === 0) return { reason: 'its machineConfigSelector finds no MachineConfig' };
  try {
    const spec = mergedSpec(chosen, release);
    if (spec['osImageURL'] === '') return { reason: withoutImage(release), isIncomplete: true };
    const current = machineConfigs.find(({ metadata }) => metadata.name === renderedNameOf(pool));
    const sum = sumOf(spec);
    const own = renderedOf(pool, { spec, sum }, release ?? current);
    readMachineConfig(lineless(own as Fields, `pool ${pool.metadata.name}`));
    const config = current !== undefined && saysTheSame(current, sum) ? current : own;
    // The operator sorts what it notes in the pool by name alone.
    return { config, sources: chosen.map(({ metadata }) => metadata.name).sort() };
  } catch (error) {
    if (error instanceof AgentError) return { reason: error.message };
    throw error;
  }
}

/** Name of the ControllerConfig of the operator. */
export const controllerConfigName = 'machine-config-controller';

const withoutImage = (release: KubeObject | undefined): string =>
  `none of its MachineConfigs names an osImageURL, and ControllerConfig ${controllerConfigName}, from which it comes then, ${
    release === undefined ? 'is not there' : 'names no baseOSContainerImage'
  }: add a MachineConfig with spec.osImageURL`;

/** What a pool selects, in the order in which it is merged: what is for all workers comes before what a pool adds. */
function sourcesOf(pool: KubeObject, machineConfigs: readonly KubeObject[]): readonly KubeObject[] {
  const selector = partOf(pool, 'spec', 'machineConfigSelector');
  // The operator refuses a selector of everything.
  if (!isFields(selector) || Object.keys(selector).length === 0) return [];
  const rank = ({ metadata: { labels } }: KubeObject): number =>
    labels?.[roleLabel] === 'worker' ? 0 : 1;
  return machineConfigs
    .filter((one) => !isRendered(one))
    .filter(({ metadata: { labels } }) => isSelectedBy(selector, labels ?? {}))
    .sort((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

const isRendered = (machineConfig: KubeObject): boolean =>
  machineConfig.metadata.name.startsWith('rendered-') &&
  ownersOf(machineConfig).some(({ kind }) => kind === 'MachineConfigPool');

function mergedSpec(sources: readonly KubeObject[], release?: KubeObject): Fields {
  const texts = (member: string): string[] =>
    sources.flatMap((one) =>
      listAt(one, 'spec', member).filter((text): text is string => typeof text === 'string'),
    );
  const last = (member: string, isNothing = ''): string =>
    sources
      .map((one) => textAt(one, 'spec', member))
      .findLast((text) => text !== '' && text !== isNothing) ?? isNothing;
  const kernelType = last('kernelType', 'default');
  const extensions = texts('extensions');
  if (kernelType !== 'default' && extensions.includes('kernel-devel')) {
    const message = `extension kernel-devel is not supported with kernelType ${kernelType}`;
    throw layeringFailure('layering.machine-config-invalid', message);
  }
  return {
    baseOSExtensionsContainerImage:
      last('baseOSExtensionsContainerImage') ||
      textAt(release, 'spec', 'baseOSExtensionsContainerImage'),
    config: mergedConfig(sources),
    extensions,
    fips: sources.some((one) => partOf(one, 'spec', 'fips') === true),
    kernelArguments: texts('kernelArguments'),
    kernelType,
    osImageURL: last('osImageURL') || textAt(release, 'spec', 'baseOSContainerImage'),
  };
}

function mergedConfig(sources: readonly KubeObject[]): Fields {
  const configs = sources.flatMap((one) => {
    const config = partOf(one, 'spec', 'config');
    return isFields(config) ? [parsed(one.metadata.name, config)] : [];
  });
  const [first, ...others] = configs;
  if (first === undefined) return { ignition: { version: specVersion(0) } };
  const merged = others.reduce(mergeConfigs, first);
  refuseErrors(validateConfig(merged), 'ignition.merge-invalid');
  const config = JSON.parse(renderConfig(merged)) as Fields;
  const storage = fieldsOf(config['storage']);
  if (!Array.isArray(storage['files'])) return config;
  // Ignition leaves a file alone that says nothing of it, while a running node writes each file.
  const files = (storage['files'] as readonly Fields[]).map((one) => ({ overwrite: true, ...one }));
  return { ...config, storage: { ...storage, files } };
}

function parsed(name: string, config: unknown): Config {
  try {
    return parseValidConfig(JSON.stringify(config), parseMachineConfig).config;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const message = `MachineConfig ${name}: ${error.message}`;
    throw layeringFailure('layering.machine-config-invalid', message, { cause: error });
  }
}

/** Whether a rendered MachineConfig, whoever wrote it, means that. */
function saysTheSame(rendered: KubeObject, sum: string): boolean {
  try {
    return sumOf(mergedSpec([rendered])) === sum;
  } catch (error) {
    if (error instanceof AgentError) return false;
    throw error;
  }
}

function sumOf(spec: Fields): string {
  const text = JSON.stringify(sorted(meantSpec(spec)));
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, sorted(part)]));
}

/**
 * Both annotations are for an operator that comes back: its builder names no build of any pool while one is rendered without
 * them (machine-config-operator 7ff337a4, `pkg/controller/build/buildrequest`, validateMachineConfig).
 * @param from what names the release: the ControllerConfig, or what the pool had
 */
function renderedOf(
  { metadata }: KubeObject,
  { spec, sum }: { readonly spec: Fields; readonly sum: string },
  from: KubeObject | undefined,
): KubeObject {
  const { name, uid } = metadata;
  const owner = { apiVersion, kind: 'MachineConfigPool', name, uid };
  const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: true }];
  const version = annotationOf(from, releaseVersionKey);
  const annotations = {
    [controllerVersionKey]: 'bootwright',
    ...(version === '' ? {} : { [releaseVersionKey]: version }),
  };
  const own = { name: `rendered-${name}-${sum}`, annotations, ownerReferences };
  return { apiVersion, kind: 'MachineConfig', metadata: own, spec };
}
