import { isDeepStrictEqual } from 'node:util';
import { AgentError } from '../../model/failure.ts';
import { isUnescaped } from '../../lib/shown-url.ts';
import { digestOf, readImageName } from '../../lib/image-name.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { isLabelValue, isSubdomain } from '../../layering/api/schema.ts';
import { countAt, partOf, textAt } from '../../layering/api/cluster-object.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { ControlPlaneSpec, OpenShiftControlPlane } from '../api.ts';
import { isConditionTrue } from '../conditions.ts';
import { releasePattern } from '../fields.ts';
import { isReserved } from '../control-plane/machines.ts';

/** What is wrong with a field of an object, and what is worth saying of it. */
export interface SpecFindings {
  /** `FIELD: WHY`. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** How many masters a cluster may have; two need an arbiter or fencing, which are not offered. */
export const masterCounts: readonly number[] = [1, 3, 4, 5];

/** The findings of an OpenShiftControlPlane; `before` is what it was (R31, R37, R51). */
export function controlPlaneFindings(
  controlPlane: KubeObject,
  before: KubeObject | undefined,
): SpecFindings {
  const warnings: string[] = [];
  const errors = [...replicasErrors(controlPlane, before)];
  if (before !== undefined && replicasOf(before) === 1 && replicasOf(controlPlane) > 1)
    warnings.push('spec.replicas: a cluster of a single node was installed for that');
  const image = textAt(controlPlane, 'spec', 'releaseImage');
  if (readImageName(image) === undefined)
    errors.push('spec.releaseImage: this is not the name of an image');
  else if (digestOf(image) === undefined)
    warnings.push(
      'spec.releaseImage: name it by its digest: a tag may mean another release tomorrow, and mirrors serve digests only',
    );
  errors.push(...referenceErrors(controlPlane, before));
  errors.push(...newConfigErrors(controlPlane, before, ['spec', 'configSpec']));
  const name = sharedName(controlPlane);
  if (name !== undefined && name !== sharedName(before))
    errors.push(
      `spec.configSpec.nodeRegistration.name: ${name} would be the name of each master: leave it out, or write $METADATA_NAME or $METADATA_UUID in it`,
    );
  const reserved = reservedIn(controlPlane).filter((one) => !reservedIn(before).includes(one));
  errors.push(...reserved.map((one) => `${one}: is set by the provider: leave it out`));
  const labels = labelErrors(controlPlane).filter((one) => !labelErrors(before).includes(one));
  errors.push(...labels);
  // What is known of a bootstrap is what its host reports to us, and its kubeconfig is of our files.
  if (textAt(controlPlane, 'spec', 'configSpec', 'inventory', 'mode') === 'External')
    errors.push('spec.configSpec.inventory.mode: must be Served: another inventory serves workers');
  return { errors, warnings };
}

const replicasOf = (controlPlane: KubeObject): number =>
  partOf(controlPlane, 'spec', 'replicas') === undefined
    ? 3
    : countAt(controlPlane, 'spec', 'replicas');

function replicasErrors(
  controlPlane: KubeObject,
  before: KubeObject | undefined,
): readonly string[] {
  const [was, is] = [replicasOf(before ?? controlPlane), replicasOf(controlPlane)];
  const { assets, conditions } = { ...(before as OpenShiftControlPlane | undefined)?.status };
  // Its host reports by the order of stages of a single node, and is refused by any other.
  const isHeld = was === 1 && is > 1 && assets !== undefined;
  const rules: readonly (readonly [isBroken: boolean, why: string])[] = [
    [!masterCounts.includes(is), `must be 1, 3, 4 or 5, and not ${is}`],
    [is < was, `masters cannot be removed: it is ${was} and cannot become ${is}`],
    [
      isHeld && !isConditionTrue(conditions, 'BootstrapComplete'),
      'masters can be added once the single node is installed',
    ],
  ];
  return rules.flatMap(([isBroken, why]) => (isBroken ? [`spec.replicas: ${why}`] : []));
}

/** Metadata for Machines by which the provider knows them. */
const reservedIn = (controlPlane: KubeObject | undefined): readonly string[] =>
  ['labels', 'annotations'].flatMap((member) => {
    const path = ['spec', 'machineTemplate', 'metadata', member];
    const keys = Object.keys(Object(partOf(controlPlane, ...path)) as object);
    return keys.filter(isReserved).map((key) => `${path.join('.')}[${key}]`);
  });

/** Machines with such labels, gates and taints are refused, and requests with such a selector, or it selects what it does not say. */
function labelErrors(controlPlane: KubeObject | undefined): readonly string[] {
  const path = ['spec', 'machineTemplate'];
  const { readinessGates = [], taints = [] } = Object(
    partOf(controlPlane, ...path, 'spec'),
  ) as Partial<ControlPlaneSpec['machineTemplate']['spec']>;
  const wrong: Readonly<Record<string, readonly string[]>> = {
    'metadata.labels': notLabels(partOf(controlPlane, ...path, 'metadata', 'labels')),
    'spec.readinessGates': readinessGates.flatMap((one) => notLabels({ [one.conditionType]: '' })),
    'spec.taints': taints.flatMap(({ key, value = '' }) => notLabels({ [key]: value })),
  };
  return [
    ...Object.entries(wrong).flatMap(([member, keys]) =>
      keys.length === 0 ? [] : [`${path.join('.')}.${member}: ${notAsLabels(keys)}`],
    ),
    ...[selectorProblem(partOf(controlPlane, 'spec', 'manifestsSelector')) ?? []].flat(),
  ];
}

/** What is wrong with the selector of manifests (Kubernetes, `ValidateLabelSelector`); undefined where nothing is. */
export function selectorProblem(selector: unknown): string | undefined {
  const { matchLabels, matchExpressions = [] } = Object(selector) as NonNullable<
    ControlPlaneSpec['manifestsSelector']
  >;
  const isWrong = ({ key, operator, values = [] }: (typeof matchExpressions)[number]): boolean =>
    !isLabelKey(key) ||
    !values.every(isLabelValue) ||
    operator.endsWith('In') !== values.length > 0;
  const wrong = [
    ...notLabels(matchLabels),
    ...matchExpressions.filter(isWrong).map(({ key }) => key),
  ];
  return wrong.length === 0
    ? undefined
    : `spec.manifestsSelector: ${notAsLabels(wrong)}; In and NotIn have values, Exists and DoesNotExist have none`;
}

const notAsLabels = (keys: readonly string[]): string => `not as labels are: ${keys.join(', ')}`;

/** Keys of labels that no object may have. */
const notLabels = (labels: unknown, valueOf: (value: unknown) => string = String) =>
  Object.entries(Object(labels) as object).flatMap(([key, value]) =>
    isLabelKey(key) && isLabelValue(valueOf(value)) ? [] : [key],
  );

/** The name that several masters would get; of one that is stored already, `HostsValid` speaks. */
function sharedName(controlPlane: KubeObject | undefined): string | undefined {
  const name = textAt(controlPlane, 'spec', 'configSpec', 'nodeRegistration', 'name');
  const isOne = controlPlane !== undefined && replicasOf(controlPlane) > 1;
  return isOne && name !== '' && !/\$METADATA_(NAME|UUID)/.test(name) ? name : undefined;
}

const templateRef = ['machineTemplate', 'spec', 'infrastructureRef'] as const;
const frozen = [templateRef, ['bootstrap', 'mode'], ['installStateSecretRef']] as const;

function referenceErrors(
  controlPlane: KubeObject,
  before: KubeObject | undefined,
): readonly string[] {
  const at = (path: readonly string[]): string => `spec.${path.join('.')}`;
  const errors = ['apiGroup', 'kind', 'name']
    .filter((member) => textAt(controlPlane, 'spec', ...templateRef, member) === '')
    .map((member) => `${at([...templateRef, member])}: is required`);
  const stateName = textAt(controlPlane, 'spec', 'installStateSecretRef', 'name');
  if (!isSubdomain(stateName))
    errors.push('spec.installStateSecretRef.name: is required, the name of a Secret');
  if (!new RegExp(releasePattern).test(textAt(controlPlane, 'spec', 'distributionVersion')))
    errors.push('spec.distributionVersion: must be a version, as 4.19.7');
  if (before === undefined) return errors;
  for (const path of frozen) {
    const [was, is] = [before, controlPlane].map(
      (one) => partOf(one, 'spec', ...path) ?? (path[0] === 'bootstrap' ? 'Pivot' : undefined),
    );
    if (!isDeepStrictEqual(was, is)) errors.push(`${at(path)}: cannot be changed`);
  }
  return errors;
}

/** The findings of an OpenShiftBootstrapConfig, or of the template of one. */
export function bootstrapConfigFindings(
  config: KubeObject,
  before: KubeObject | undefined,
): SpecFindings {
  const isTemplate = config.kind === 'OpenShiftBootstrapConfigTemplate';
  const path = isTemplate ? ['spec', 'template', 'spec'] : ['spec'];
  const spec = partOf(config, ...path);
  const errors = newConfigErrors(config, before, path);
  // A template may change: Machines of it take what it is when they are made.
  if (
    !isTemplate &&
    before !== undefined &&
    textAt(before, 'status', 'dataSecretName') !== '' &&
    !isDeepStrictEqual(before['spec'], spec)
  )
    errors.push(
      'spec: cannot be changed, since the host got its Ignition already: replace its Machine',
    );
  return { errors, warnings: [] };
}

/** The errors of how a host is installed. What is stored with one is written by core and by us too, which must not fail. */
function newConfigErrors(
  object: KubeObject,
  before: KubeObject | undefined,
  path: readonly string[],
): string[] {
  const known = before === undefined ? [] : configErrors(partOf(before, ...path), path.join('.'));
  return configErrors(partOf(object, ...path), path.join('.')).filter(
    (one) => !known.includes(one),
  );
}

function configErrors(spec: unknown, path: string): string[] {
  const config: KubeObject = { metadata: { name: '' }, spec };
  const errors: string[] = [];
  const override = textAt(config, 'spec', 'ignitionConfigOverride');
  const problem = override === '' ? undefined : ignitionProblem(override);
  if (problem !== undefined) errors.push(`${path}.ignitionConfigOverride: ${problem}`);
  const device = textAt(config, 'spec', 'installDevice');
  const isExisting = textAt(config, 'spec', 'writeMode') === 'ExistingRoot';
  const hasHints =
    Object.keys(Object(partOf(config, 'spec', 'rootDeviceHints')) as object).length > 0;
  if (device === '' && !hasHints && !isExisting)
    errors.push(
      `${path}.installDevice: it or rootDeviceHints is required unless writeMode is ExistingRoot`,
    );
  if (device !== '' && hasHints && !isExisting)
    errors.push(`${path}.rootDeviceHints: remove it or installDevice: one of them names the disk`);
  if (device !== '' && (!/^\/dev\/[^\s]+$/.test(device) || /\/\.{0,2}(\/|$)/.test(device)))
    errors.push(`${path}.installDevice: must be a path below /dev`);
  return [...errors, ...valueErrors(config, path)];
}

/**
 * Values that would end a host once its disk is written, or before it boots, without a word to whoever wrote them. What is resolved on
 * the host is taken for a letter.
 */
function valueErrors(config: KubeObject, path: string): readonly string[] {
  const resolved = (text: unknown): string =>
    String(text).replaceAll(/\$METADATA_(?:UUID|NAME)/g, 'a');
  const at = (...member: readonly string[]): string => resolved(textAt(config, 'spec', ...member));
  const [name, id] = [at('nodeRegistration', 'name'), at('nodeRegistration', 'providerID')];
  const wrong = notLabels(partOf(config, 'spec', 'nodeRegistration', 'labels'), resolved);
  const rules: readonly (readonly [isRight: boolean, error: string])[] = [
    ...['inventory.url', 'proxy.httpProxy', 'proxy.httpsProxy'].flatMap((member) => {
      const url = at(...member.split('.'));
      return [
        [url === '' || URL.canParse(url), `${member}: this is no URL`],
        [!isUnescaped(url, 'server'), `${member}: ${escape}`],
      ] as const;
    }),
    [name === '' || isSubdomain(name.toLowerCase()), 'nodeRegistration.name: must be a host name'],
    [!/\s/.test(id), 'nodeRegistration.providerID: must be one word'],
    [wrong.length === 0, `nodeRegistration.labels: ${notAsLabels(wrong)}`],
  ];
  return rules.flatMap(([isRight, error]) => (isRight ? [] : [`${path}.${error}`]));
}

const escape = 'escape @ as %40, # as %23, ? as %3F and / as %2F in its user and password';

function isLabelKey(key: string): boolean {
  const [name = '', prefix = 'a', ...more] = key.split('/').toReversed();
  return name !== '' && isLabelValue(name) && isSubdomain(prefix) && more.length === 0;
}

function ignitionProblem(text: string): string | undefined {
  try {
    parseValidConfig(text);
    return undefined;
  } catch (error) {
    if (error instanceof AgentError) return error.message;
    throw error;
  }
}

/** The shortest start-up time that no installation on bare metal takes as long as. */
const shortestStartup = 3600;

/** A hint where a MachineHealthCheck would delete hosts that are being installed; core's default is 600 s (v1beta2, `nodeStartupTimeoutSeconds`). */
export function healthCheckWarning(check: KubeObject): string | undefined {
  const seconds =
    partOf(check, 'spec', 'checks', 'nodeStartupTimeoutSeconds') === undefined
      ? 600
      : countAt(check, 'spec', 'checks', 'nodeStartupTimeoutSeconds');
  if (seconds === 0 || seconds >= shortestStartup) return undefined;
  return `MachineHealthCheck ${check.metadata.name} replaces a host that is no node after ${seconds} s, while it is being installed: set spec.checks.nodeStartupTimeoutSeconds to 0, or to ${shortestStartup} or more`;
}
