import { createHash } from 'node:crypto';
import { asAgentError } from '../../engine/failures.ts';
import { secrets } from '../../kube/kinds.ts';
import { selectorText } from '../../kube/selector.ts';
import { isLabelKey, isLabelValue } from '../../layering/api/schema.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { capiNames, type ControlPlaneSpec, type OpenShiftControlPlane, ownNames } from '../api.ts';
import { type CheckResult, passedCheck, failedCheck } from '../conditions.ts';
import {
  installConfigProblems,
  installStateKeys,
  readInstallConfig,
  staleStateProblems,
} from '../install-state.ts';
import {
  checkManifests,
  filesOfSecret,
  installerFolders,
  manifestFindingText,
} from '../manifests.ts';
import { secretText } from '../objects.ts';
import type { InstallInputs } from './installer.ts';

/** The inputs of the installer, and the findings about them. */
export interface InputsVerdict {
  readonly installState: CheckResult;
  readonly manifests: CheckResult;
  /** Undefined while one of the two Secrets has an error. */
  readonly inputs: InstallInputs | undefined;
  /** Hash of all inputs. */
  readonly hash: string;
}

/** Reads and checks the Secrets that a control plane names. */
export async function readInstallInputs(
  kube: Pick<Kube, 'get' | 'list'>,
  { metadata, spec }: OpenShiftControlPlane,
  signal: AbortSignal,
): Promise<InputsVerdict> {
  const { namespace = '', labels } = metadata;
  const { installStateSecretRef, manifestsSelector, releaseImage, replicas = 3 } = spec;
  const problem = selectorProblem(spec);
  const labelSelector = problem === undefined ? selectorText(manifestsSelector) : undefined;
  const { name } = installStateSecretRef;
  const [secret, manifestSecrets] = await Promise.all([
    kube.get({ kind: secrets, namespace, name }, signal),
    labelSelector === undefined
      ? []
      : kube.list({ kind: secrets, namespace, labelSelector }, signal),
  ]);
  const inputs: InstallInputs = {
    config: secretText(secret, installStateKeys.config),
    state: secretText(secret, installStateKeys.state),
    manifests: manifestSecrets.flatMap((one) => {
      const found = one.metadata.annotations?.[ownNames.manifestFolder];
      const folder = installerFolders.find((known) => known === found);
      if (folder === undefined) return [];
      return filesOfSecret(one).map(([file, content]) => ({
        folder,
        name: file,
        content: content.toString(),
        secret: one.metadata.name,
      }));
    }),
    stateSecret: name,
    releaseImage,
    isSingleNode: replicas === 1,
  };
  const manifests =
    problem === undefined ? manifestsFinding(manifestSecrets) : failedCheck('Invalid', problem);
  const installState =
    secret === undefined
      ? failedCheck('SecretNotFound', `Secret ${name} does not exist; create it`)
      : stateFinding(inputs, { replicas, cluster: labels?.[capiNames.clusterName] });
  return {
    installState,
    manifests,
    hash: createHash('sha256').update(JSON.stringify(inputs)).digest('hex'),
    inputs: [installState, manifests].every(({ status }) => status === 'True') ? inputs : undefined,
  };
}

function stateFinding(
  { stateSecret, ...given }: InstallInputs,
  expected: Parameters<typeof installConfigProblems>[1],
): CheckResult {
  const invalid = (why: string): CheckResult =>
    failedCheck('Invalid', `Secret ${stateSecret}${why}`);
  if (given.config === undefined && given.state === undefined)
    return invalid(` has no key ${installStateKeys.config} or ${installStateKeys.state}`);
  try {
    const read = readInstallConfig(given);
    const paths = given.manifests.map(({ folder, name: file }) => `${folder}/${file}`);
    const problems = [
      ...staleStateProblems(given, paths),
      ...(read === undefined ? [] : installConfigProblems(read, expected)),
    ];
    return problems.length === 0 ? passedCheck('Valid') : invalid(`: ${problems.join('; ')}`);
  } catch (error) {
    return invalid(`: ${asAgentError(error).message}`);
  }
}

/**
 * An error in the selector of manifests (Kubernetes, `ValidateLabelSelector`): the API server would
 * refuse the list, or select others.
 */
function selectorProblem({ manifestsSelector }: ControlPlaneSpec): string | undefined {
  const { matchLabels = {}, matchExpressions = [] } = manifestsSelector ?? {};
  const invalid = [
    ...Object.entries(matchLabels)
      .filter(([key, value]) => !isLabelKey(key) || !isLabelValue(value))
      .map(([key]) => key),
    ...matchExpressions
      .filter(
        ({ key, operator, values = [] }) =>
          !isLabelKey(key) ||
          !values.every(isLabelValue) ||
          operator.endsWith('In') !== values.length > 0,
      )
      .map(({ key }) => key),
  ];
  return invalid.length === 0
    ? undefined
    : `spec.manifestsSelector: not valid as labels: ${invalid.join(', ')}; In and NotIn have values, Exists and DoesNotExist have none`;
}

/** Maximum number of findings in a condition; people read a line. */
const mostShown = 5;

function manifestsFinding(all: readonly KubeObject[]): CheckResult {
  if (all.length === 0) return passedCheck('NoneSelected');
  const errors = checkManifests(all).filter(({ isWarning }) => !isWarning);
  if (errors.length === 0) return passedCheck('Valid');
  const shown = errors.slice(0, mostShown).map(manifestFindingText);
  if (errors.length > mostShown) shown.push(`and ${errors.length - mostShown} more`);
  return failedCheck('Invalid', shown.join('; '));
}
