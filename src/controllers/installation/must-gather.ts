import { gatheringPodName } from '../../cluster/controller.ts';
import { clusterRoleBindings, imageStreams, secrets, serviceAccounts } from '../../kube/kinds.ts';
import { noteFailed } from '../../engine/failures.ts';
import { jsonIn } from '../../lib/json.ts';
import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { InstallationView } from '../../ports/inventory.ts';
import type { KubeKind, KubeObject } from '../../ports/kube.ts';
import { cleanUpSignal, controllerFailure } from './failures.ts';
import {
  gatheringPod,
  gatheringSecret,
  type GatheringImage,
  longestGatheringPod,
} from './must-gather-pod.ts';
import { ownedBy, runPod } from './run-pod.ts';
import type { ControllerScope } from './step.ts';

/** What is to be gathered of a cluster whose installation has failed. */
export interface Gathering {
  /** The cluster has failed at the service. */
  readonly isInError: boolean;
  /** Names of the operators that have. */
  readonly failedOperators: readonly string[];
}

/**
 * What has failed, by what the service says, which a restarted controller hears too; undefined
 * where nothing has.
 */
export async function neededGathering({
  inventory,
  signal,
}: ControllerScope<'inventory'>): Promise<Gathering | undefined> {
  const first = new AbortController();
  let view: InstallationView = {};
  await inventory.follow(
    (seen) => {
      view = seen;
      first.abort();
    },
    AbortSignal.any([signal, first.signal]),
  );
  const operators = await inventory.operators(signal).catch(() => {
    signal.throwIfAborted();
    return [];
  });
  // A cluster that its user has cancelled has operators that have not come up; nobody asks why.
  const failedOperators = operators
    .filter(({ type, status }) => type === 'olm' && status === 'failed')
    .map(({ name }) => name);
  const isInError = view.cluster?.status === 'error';
  return isInError || failedOperators.length > 0 ? { isInError, failedOperators } : undefined;
}

/**
 * The images that MUST_GATHER_IMAGE names: one image, or a JSON object of which `ocp` is for the
 * cluster and the others for operators. None: that of the release. An entry that is missing is left
 * out; the controller that is replaced asked for an image without a name.
 */
export function gatheringImages(
  setting: string,
  { isInError, failedOperators }: Gathering,
): readonly GatheringImage[] {
  if (setting === '') return [];
  const images = imagesIn(setting);
  if (images === undefined) return [{ name: 'ocp', image: setting }];
  return [...(isInError ? ['ocp'] : []), ...failedOperators].flatMap((name) => {
    const image = images[name];
    return typeof image === 'string' && image !== '' ? [{ name, image }] : [];
  });
}

function imagesIn(setting: string): Readonly<Record<string, unknown>> | undefined {
  const images = jsonIn(setting);
  if (typeof images !== 'object' || images === null || Array.isArray(images)) return undefined;
  return images as Readonly<Record<string, unknown>>;
}

/** The image stream of the release from which `oc adm must-gather` takes its image. */
const releaseStream = { kind: imageStreams, namespace: 'openshift', name: 'must-gather' } as const;

/** What the newest tag of an image stream leads to; undefined if absent. */
export function latestImage(stream: KubeObject | undefined): string | undefined {
  const { status } = (stream ?? {}) as {
    readonly status?: {
      readonly tags?: readonly {
        readonly tag: string;
        readonly items?: readonly { readonly dockerImageReference?: string }[] | null;
      }[];
    };
  };
  return status?.tags?.find(({ tag }) => tag === 'latest')?.items?.[0]?.dockerImageReference;
}

type GatherScope = ControllerScope<'adminKube' | 'clock'>;

/**
 * Gathers the state of the cluster in a pod, which uploads it to the service together with the log
 * of the controller: some hundred MiB never pass through this program. The pod has the rights of an
 * administrator, as that of `oc adm must-gather` has; whatever was made for it is removed again.
 * @throws AgentError `controller.not-gathered`, `kube.*`
 */
export async function gatherCluster(
  scope: GatherScope,
  gathering: Gathering & { readonly pod: KubeObject | undefined },
): Promise<void> {
  const { adminKube: admin, config, signal, note } = scope;
  const { namespace } = config;
  let images = gatheringImages(config.images.mustGather, gathering);
  if (images.length === 0) {
    const image = latestImage(await admin.get(releaseStream, signal));
    if (image === undefined) throw notGathered('the cluster names no image that gathers');
    images = [{ name: 'release', image }];
  }
  const owned = (object: KubeObject): KubeObject =>
    object.metadata.namespace === undefined ? object : ownedBy(gathering.pod, object);
  const made = [...rightsIn(namespace), { kind: secrets, object: gatheringSecret(config) }].map(
    ({ kind, object }) => ({ kind, object: owned(object) }),
  );
  try {
    for (const { kind, object } of made) await created(scope, kind, object);
    note('info', 'gathering the state of the cluster', {
      images: images.map(({ image }) => image).join(' '),
    });
    const pod = owned(gatheringPod(config, { images, controller: gathering.pod }));
    const run = { pod, container: 'upload', within: longestGatheringPod + minutes(1) };
    const { isSuccess, log } = await runPod(scope, run);
    if (!isSuccess) throw notGathered(log.trim().split('\n').at(-1) ?? '');
  } finally {
    await removed(scope, made);
  }
}

const notGathered = (said: string): AgentError =>
  controllerFailure(
    'controller.not-gathered',
    `the cluster was not gathered: ${said.slice(0, 300)}`,
  );

interface Made {
  readonly kind: KubeKind;
  readonly object: KubeObject;
}

/** The account of the pod, and what it may do: all, as there is nothing that is not gathered. */
function rightsIn(namespace: string): readonly Made[] {
  const name = gatheringPodName;
  const account = { kind: 'ServiceAccount', name, namespace };
  const roleRef = {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'cluster-admin',
  };
  return [
    {
      kind: serviceAccounts,
      object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    },
    {
      kind: clusterRoleBindings,
      object: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef,
        subjects: [account],
      },
    },
  ];
}

/**
 * Takes the rights of an administrator away that a controller has left which was killed while it
 * gathered: nothing in the cluster can own a binding of the whole cluster.
 */
export async function removeLeftBinding({
  kube,
  ...scope
}: ControllerScope<'kube'>): Promise<void> {
  try {
    await kube.remove({ kind: clusterRoleBindings, name: gatheringPodName }, scope.signal);
  } catch (error) {
    noteFailed(scope, `clusterrolebinding ${gatheringPodName} could not be removed`, error);
  }
}

async function created(
  { adminKube: admin, signal }: GatherScope,
  kind: KubeKind,
  object: KubeObject,
): Promise<void> {
  const { namespace } = object.metadata;
  try {
    await admin.create({ kind, namespace }, object, signal);
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'kube.conflict') throw error;
    // A controller that was killed has left it. What a Secret says may have changed since.
    if (kind !== secrets) return;
    const { name } = object.metadata;
    const ref = { kind, name, namespace };
    await admin.patch(ref, { type: 'merge', body: { stringData: object['stringData'] } }, signal);
  }
}

async function removed(
  { adminKube: admin, note, signal }: GatherScope,
  made: readonly Made[],
): Promise<void> {
  const remove = async ({ kind, object }: Made): Promise<void> => {
    const { name, namespace } = object.metadata;
    const ref = { kind, name, namespace };
    await admin.remove(ref, cleanUpSignal(signal)).catch((error: unknown) => {
      note('warn', `${kind.plural} ${name} could not be removed`, { reason: String(error) });
    });
  };
  // At once: a controller that is stopped has little time for it.
  await Promise.all(made.map(remove));
}
