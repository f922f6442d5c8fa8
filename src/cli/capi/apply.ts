import { join } from 'node:path';
import {
  bootstrapConfigFindings,
  controlPlaneFindings,
  healthCheckWarning,
  type SpecFindings,
} from '../../capi/admission/specs.ts';
import { checkManifests, checkReferences, objectFindings } from '../../capi/admission/manifests.ts';
import { ownNames } from '../../capi/api.ts';
import { type InstallFolder, wrappedSecrets } from '../../capi/render.ts';
import { secrets } from '../../cluster/kinds.ts';
import { countAt, partOf, textAt } from '../../layering/api/cluster-object.ts';
import { readDocuments } from '../../layering/api/source-object.ts';
import { decodeSource, isSourceFinding } from '../../layering/api/source-text.ts';
import { AgentError } from '../../model/failure.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { withCluster } from '../cluster.ts';
import { print } from '../messages.ts';
import {
  capiFailure,
  type FileFinding,
  fileFinding,
  folderFiles,
  infrastructureFolder,
  readInstallFolder,
  refuseFindings,
  stateFindings,
} from './folder.ts';

/** Arguments of `capi apply`. */
export interface ApplyCall {
  readonly dir: string;
  readonly kubeconfig: string;
  /** Only check the files. */
  readonly check: boolean;
}

/** Who is named for what the command applies. */
const manager = 'bootwright-capi-apply';

/**
 * Checks the files of an installation and applies them (R12, R14, R17): first what is numbered below 10, then the Secrets of the installer's files, then
 * the rest. What somebody else changed stops it (R13).
 * @throws AgentError `capi.install-config-missing`, `capi.input-invalid`, `capi.conflict`, `config.file-not-read`, `kube.*`
 */
export async function runCapiApply({ dir, kubeconfig, check }: ApplyCall): Promise<number> {
  const folder = await readInstallFolder(dir);
  const infrastructure = await readInfrastructure(dir);
  refuseFindings(infrastructure.findings);
  const plan = planOf(folder, infrastructure);
  refuseFindings(plan.findings);
  if (check) return 0;
  return withCluster(kubeconfig, async (kube, signal) => {
    for (const object of plan.before) await apply(kube, object, signal);
    await removeOthers(kube, plan.secrets, signal);
    for (const object of [...plan.secrets, ...plan.after]) await apply(kube, object, signal);
    return 0;
  });
}

interface FoundObject {
  readonly file: string;
  readonly object: KubeObject;
}

interface Infrastructure {
  readonly objects: readonly FoundObject[];
  readonly findings: readonly FileFinding[];
}

async function readInfrastructure(dir: string): Promise<Infrastructure> {
  const objects: FoundObject[] = [];
  const findings: FileFinding[] = [];
  for (const { name: file, content } of await folderFiles(join(dir, infrastructureFolder))) {
    if (!/\.(?:ya?ml|json)$/.test(file)) continue;
    const path = `${infrastructureFolder}/${file}`;
    const text = decodeSource(path, content);
    const read = isSourceFinding(text)
      ? [text]
      : readDocuments(text, 'an object', { columns: true });
    for (const one of read) {
      const wrong = isSourceFinding(one) ? [{ ...one, why: one.problem }] : objectFindings(one);
      for (const { place, why, ...more } of wrong)
        findings.push({ line: `${place}: ${why}`, isWarning: 'isWarning' in more });
      if (!isSourceFinding(one))
        objects.push({ file: path, object: one.value as unknown as KubeObject });
    }
  }
  return { objects, findings };
}

interface Plan {
  readonly before: readonly KubeObject[];
  readonly secrets: readonly KubeObject[];
  readonly after: readonly KubeObject[];
  readonly findings: readonly FileFinding[];
}

const isOfCluster = ({ apiVersion = '', kind }: KubeObject): boolean =>
  kind === 'Cluster' && apiVersion.startsWith('cluster.x-k8s.io/');

/** What is applied in which order, and what is wrong with it. */
function planOf(folder: InstallFolder, { objects }: Infrastructure): Plan {
  const clusters = objects.filter(({ object }) => isOfCluster(object));
  const [cluster] = clusters;
  if (cluster === undefined || clusters.length > 1)
    throw capiFailure(
      'capi.input-invalid',
      `${infrastructureFolder} holds ${clusters.length} Clusters of cluster.x-k8s.io, and one is expected`,
      { hint: 'bootwright capi render writes one' },
    );
  const { name, namespace = 'default' } = cluster.object.metadata;
  const wrapped = wrappedSecrets(folder, { cluster: name, namespace });
  const [state, ...manifests] = wrapped;
  const controlPlane = objects.find(({ object }) => object.kind === 'OpenShiftControlPlane');
  const replicas = partOf(controlPlane?.object, 'spec', 'replicas');
  const agreeing = { cluster: name, ...(typeof replicas === 'number' ? { replicas } : {}) };
  const checked = checkManifests(manifests);
  const all = checked.some(({ isWarning }) => !isWarning)
    ? checked
    : [...checked, ...checkReferences(manifests)];
  const folderOf = new Map(
    manifests.map(({ metadata }) => [
      metadata.name,
      metadata.annotations?.[ownNames.manifestFolder],
    ]),
  );
  const isEarly = ({ file }: FoundObject): boolean => /\/0\d/.test(file);
  return {
    before: objects.filter(isEarly).map(({ object }) => object),
    secrets: wrapped,
    after: objects.filter((one) => !isEarly(one)).map(({ object }) => object),
    findings: [
      ...(state === undefined ? [] : stateFindings(state, agreeing)),
      ...all.map((finding) => fileFinding(folderOf.get(finding.secret) ?? '', finding)),
      ...objects.flatMap(specFindings),
    ],
  };
}

function specFindings({ file, object }: FoundObject): readonly FileFinding[] {
  const { errors, warnings } = findingsOf(object);
  return [
    ...errors.map((why) => ({ line: `${file}: ${why}`, isWarning: false })),
    ...warnings.map((why) => ({ line: `${file}: ${why}`, isWarning: true })),
  ];
}

function findingsOf(object: KubeObject): SpecFindings {
  const nothing = { errors: [], warnings: [] };
  switch (object.kind) {
    case 'OpenShiftControlPlane':
      return controlPlaneFindings(object, undefined);
    case 'OpenShiftBootstrapConfig':
    case 'OpenShiftBootstrapConfigTemplate':
      return bootstrapConfigFindings(object, undefined);
    case 'MachineHealthCheck':
      return { ...nothing, warnings: [healthCheckWarning(object) ?? ''].filter(Boolean) };
    case 'Cluster':
      return { ...nothing, errors: referenceErrors(object, ['spec']) };
    case 'MachineDeployment': {
      const errors = referenceErrors(object, ['spec', 'template', 'spec']);
      const isNone = countAt(object, 'spec', 'replicas') === 0;
      return isNone ? nothing : { ...nothing, errors };
    }
    default:
      return nothing;
  }
}

/** What `capi render` leaves to whoever brings an infrastructure of their own. */
const referenceErrors = (object: KubeObject, path: readonly string[]): readonly string[] =>
  ['apiGroup', 'kind', 'name']
    .filter((member) => textAt(object, ...path, 'infrastructureRef', member) === '')
    .map((member) => `${[...path, 'infrastructureRef', member].join('.')}: is required`);

async function apply(kube: Kube, object: KubeObject, signal: AbortSignal): Promise<void> {
  const { namespace, name } = object.metadata;
  const title = `${object.kind ?? 'object'} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  try {
    await kube.apply(object, signal, { manager, force: false });
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'kube.conflict') throw error;
    throw capiFailure('capi.conflict', `${title}: ${error.message}`, { cause: error });
  }
  print(`applied ${title}\n`);
}

/** Files that were taken out of the directory, or are in another Secret now, must not be there twice. */
async function removeOthers(
  kube: Kube,
  wrapped: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  const [state] = wrapped;
  const { namespace = '', labels } = state?.metadata ?? {};
  const cluster = labels?.[ownNames.installState] ?? '';
  const names = new Set(wrapped.map(({ metadata }) => metadata.name));
  const labelSelector = `${ownNames.installManifests}=${cluster}`;
  for (const { metadata } of await kube.list({ kind: secrets, namespace, labelSelector }, signal)) {
    const rest = metadata.name.slice(cluster.length + 1);
    if (!/^(?:manifests|openshift)-\d+$/.test(rest) || names.has(metadata.name)) continue;
    await kube.remove({ kind: secrets, namespace, name: metadata.name, uid: metadata.uid }, signal);
    print(`removed Secret ${namespace}/${metadata.name}\n`);
  }
}
