import { createHash } from 'node:crypto';
import { secrets } from '../../kube/kinds.ts';
import { selectorText } from '../../kube/selector.ts';
import { isLabelKey, isLabelValue } from '../../layering/api/schema.ts';
import type { InstallInputs, InstallManifest } from './installer.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { checkManifests, checkReferences, findingsLine, type InputFinding } from '../manifests.ts';
import { checkInstallState, installStateKeys } from '../install-state.ts';
import { capiNames, type ControlPlaneSpec, type OpenShiftControlPlane, ownNames } from '../api.ts';
import { type CheckResult, right, wrong } from '../conditions.ts';
import { secretText } from '../objects.ts';

/** What a cluster is installed from, and whether it is right. */
export interface InputsVerdict {
  readonly installState: CheckResult;
  readonly manifests: CheckResult;
  /** Where both are. */
  readonly inputs?: InstallInputs;
  /** Of all that goes into the installer. */
  readonly hash: string;
}

/** Reads the Secrets that a control plane names, and checks them. */
export async function readInstallInputs(
  kube: Pick<Kube, 'get' | 'list'>,
  controlPlane: OpenShiftControlPlane,
  signal: AbortSignal,
): Promise<InputsVerdict> {
  const { namespace = '' } = controlPlane.metadata;
  const { installStateSecretRef, manifestsSelector } = controlPlane.spec;
  const isRight = selectorProblem(controlPlane.spec) === undefined;
  const labelSelector = isRight ? selectorText(manifestsSelector) : undefined;
  const [state, manifests] = await Promise.all([
    kube.get({ kind: secrets, namespace, name: installStateSecretRef.name }, signal),
    labelSelector === undefined
      ? []
      : kube.list({ kind: secrets, namespace, labelSelector }, signal),
  ]);
  return verdictOn(controlPlane, state, manifests);
}

/** Whether what a cluster is installed from is right. */
export function verdictOn(
  controlPlane: OpenShiftControlPlane,
  state: KubeObject | undefined,
  secretsOfManifests: readonly KubeObject[],
): InputsVerdict {
  const installState = stateFinding(controlPlane, state);
  const manifests = secretsOfManifests.flatMap(manifestsIn);
  const problem = selectorProblem(controlPlane.spec);
  const found =
    problem === undefined ? manifestsFinding(secretsOfManifests) : wrong('Invalid', problem);
  const installConfig = secretText(state, installStateKeys.config);
  const stateText = secretText(state, installStateKeys.state);
  const inputs: InstallInputs = {
    ...(installConfig === undefined ? {} : { installConfig }),
    ...(stateText === undefined ? {} : { state: stateText }),
    manifests,
    stateSecret: controlPlane.spec.installStateSecretRef.name,
    releaseImage: controlPlane.spec.releaseImage,
    isSingleNode: controlPlane.spec.replicas === 1,
  };
  const hash = createHash('sha256').update(JSON.stringify(inputs)).digest('hex');
  const isRight = installState.isRight && found.isRight;
  return { installState, manifests: found, hash, ...(isRight ? { inputs } : {}) };
}

function stateFinding(
  { metadata: { labels }, spec: { installStateSecretRef, replicas = 3 } }: OpenShiftControlPlane,
  state: KubeObject | undefined,
): CheckResult {
  const { name } = installStateSecretRef;
  if (state === undefined) return wrong('SecretNotFound', `Secret ${name} is not there; make it`);
  const installConfig = secretText(state, installStateKeys.config);
  const keys = `${installStateKeys.config} or ${installStateKeys.state}`;
  if (installConfig === undefined && secretText(state, installStateKeys.state) === undefined)
    return wrong('KeyMissing', `Secret ${name} has no key ${keys}`);
  const cluster = labels?.[capiNames.clusterName];
  const own = errorsOf(checkInstallState(state));
  if (own.length > 0) return wrong('ParseFailed', findingsLine(own));
  const differing = errorsOf(checkInstallState(state, { replicas, cluster }));
  return differing.length === 0
    ? right('Valid')
    : wrong('ReplicasMismatch', findingsLine(differing));
}

/**
 * What is wrong with the selector of manifests (Kubernetes, `ValidateLabelSelector`): the list
 * would be refused, or select others.
 */
function selectorProblem({ manifestsSelector }: ControlPlaneSpec): string | undefined {
  const { matchLabels = {}, matchExpressions = [] } = manifestsSelector ?? {};
  const isWrong = ({ key, operator, values = [] }: (typeof matchExpressions)[number]): boolean =>
    !isLabelKey(key) ||
    !values.every(isLabelValue) ||
    operator.endsWith('In') !== values.length > 0;
  const wrong = [
    ...Object.entries(matchLabels).filter(
      ([key, value]) => !isLabelKey(key) || !isLabelValue(value),
    ),
    ...matchExpressions.filter(isWrong).map(({ key }) => [key]),
  ].map(([key]) => key);
  return wrong.length === 0
    ? undefined
    : `spec.manifestsSelector: not as labels are: ${wrong.join(', ')}; In and NotIn have values, Exists and DoesNotExist have none`;
}

const errorsOf = (findings: readonly InputFinding[]): readonly InputFinding[] =>
  findings.filter(({ isWarning }) => !isWarning);

function manifestsIn(secret: KubeObject): readonly InstallManifest[] {
  const folder = secret.metadata.annotations?.[ownNames.manifestFolder];
  if (folder !== 'manifests' && folder !== 'openshift') return [];
  const { data = {} } = secret as { readonly data?: Readonly<Record<string, string>> };
  return Object.keys(data)
    .sort()
    .map((name) => ({
      folder,
      name,
      content: secretText(secret, name) ?? '',
      secret: secret.metadata.name,
    }));
}

/** Where the manifests are used: in `ManifestsValid`. */
function manifestsFinding(all: readonly KubeObject[]): CheckResult {
  if (all.length === 0) return right('NoneSelected');
  const own = errorsOf(checkManifests(all));
  const errors = own.length > 0 ? own : errorsOf(checkReferences(all));
  if (errors.length === 0) return right('Valid');
  const reason = errors.every(({ isDuplicate }) => isDuplicate) ? 'Duplicate' : 'Invalid';
  return wrong(reason, findingsLine(errors));
}
