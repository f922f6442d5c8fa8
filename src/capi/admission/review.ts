import { isDeepStrictEqual } from 'node:util';
import {
  type HttpAnswer,
  HttpRefusal,
  type HttpRoute,
  jsonAnswer,
  type RouteRequest,
} from '../../ports/http-route.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { jsonIn } from '../../lib/json.ts';
import { seconds } from '../../model/duration.ts';
import { partOf, textAt } from '../../layering/api/cluster-object.ts';
import { isSelectedBy } from '../../layering/hand-over/pool-status.ts';
import { capiNames, type OpenShiftControlPlane, ownNames, webhookPaths } from '../api.ts';
import { checkManifests, findingText, type InputFinding } from './manifests.ts';
import { checkInstallState } from './install-state.ts';
import {
  bootstrapConfigFindings,
  controlPlaneFindings,
  healthCheckWarning,
  type SpecFindings,
} from './specs.ts';

/**
 * What is known of the objects around one that is checked, by the last views of the informers. They may be late: what is decided by
 * them is decided again when the objects are used.
 */
export interface AdmissionStores {
  /** Secrets of a namespace with the label of manifests. */
  readonly manifestSecrets: (namespace: string) => readonly KubeObject[];
  readonly controlPlanes: (namespace: string) => readonly KubeObject[];
  readonly healthChecks?: (namespace: string) => readonly KubeObject[];
}

/** What is asked (k8s.io/api/admission/v1, `AdmissionRequest`), as far as it is read. */
interface Asked {
  readonly uid: string;
  readonly namespace: string;
  readonly object: KubeObject;
  readonly before: KubeObject | undefined;
}

type Verify = (asked: Asked) => SpecFindings;

/** The webhooks of the bootstrap provider. */
export const bootstrapAdmissionRoutes = (): readonly HttpRoute[] => [
  route(webhookPaths.bootstrapConfig, ({ object, before }) =>
    bootstrapConfigFindings(object, before),
  ),
];

/** The webhooks of the control-plane provider. */
export const controlPlaneAdmissionRoutes = (stores: AdmissionStores): readonly HttpRoute[] => [
  route(webhookPaths.controlPlane, (asked) => verifyControlPlane(stores, asked)),
  route(webhookPaths.healthCheck, (asked) => verifyHealthCheck(stores, asked)),
  route(webhookPaths.manifests, (asked) => verifyManifests(stores, asked)),
  route(webhookPaths.installState, (asked) => verifyInstallState(stores, asked)),
];

/** A Secret and what it was, both with 1 MiB in base64, and what is said around them. */
const largest = 8 * 1024 ** 2;

const route = (path: string, verify: Verify): HttpRoute => ({
  ...{ method: 'POST', path, bodyLimit: largest, deadline: seconds(10) },
  answer: (request) => answerReview(request, verify),
});

async function answerReview(request: RouteRequest, verify: Verify): Promise<HttpAnswer> {
  const review = jsonIn(Buffer.from(await request.bytes()).toString('utf8'));
  const asked = askedIn(review as KubeObject | undefined);
  if (asked === undefined)
    throw new HttpRefusal(400, 'an AdmissionReview of admission.k8s.io/v1 is expected');
  const isGoing = asked.object.metadata.deletionTimestamp !== undefined;
  const { errors, warnings } = isGoing ? { errors: [], warnings: [] } : verify(asked);
  return jsonAnswer(200, {
    ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
    response: {
      ...{ uid: asked.uid, allowed: errors.length === 0 },
      ...(errors.length === 0 ? {} : { status: refusedStatus(errors) }),
      ...(warnings.length === 0 ? {} : { warnings: firstOf(warnings, 10) }),
    },
  });
}

const refusedStatus = (errors: readonly string[]) => ({
  ...{ code: 422, reason: 'Invalid', message: firstOf(errors, 20).join('; ') },
});

const firstOf = (texts: readonly string[], most: number): readonly string[] =>
  texts.length <= most ? texts : [...texts.slice(0, most), `and ${texts.length - most} more`];

function askedIn(review: KubeObject | undefined): Asked | undefined {
  if (review?.kind !== 'AdmissionReview' || review.apiVersion !== 'admission.k8s.io/v1')
    return undefined;
  const object = objectIn(partOf(review, 'request', 'object'));
  const uid = textAt(review, 'request', 'uid');
  if (object === undefined || uid === '') return undefined;
  const namespace = textAt(review, 'request', 'namespace');
  const before = objectIn(partOf(review, 'request', 'oldObject'));
  return { uid, namespace, object, before };
}

const objectIn = (value: unknown): KubeObject | undefined => {
  const metadata = partOf(value as KubeObject | undefined, 'metadata');
  return typeof metadata === 'object' && metadata !== null ? (value as KubeObject) : undefined;
};

function verifyControlPlane(
  { healthChecks = () => [] }: AdmissionStores,
  { namespace, object, before }: Asked,
): SpecFindings {
  const { errors, warnings } = controlPlaneFindings(object, before);
  const cluster = object.metadata.labels?.[capiNames.clusterName];
  const checks = healthChecks(namespace)
    .filter((check) => textAt(check, 'spec', 'clusterName') === cluster)
    .flatMap((check) => healthCheckWarning(check) ?? []);
  return { errors, warnings: [...warnings, ...checks] };
}

/** One of a cluster that another control plane provider has is none of our business. */
function verifyHealthCheck(
  { controlPlanes }: AdmissionStores,
  { namespace, object }: Asked,
): SpecFindings {
  const cluster = textAt(object, 'spec', 'clusterName');
  // Core gives a control plane the label a moment later.
  const isOurs = controlPlanes(namespace).some(
    ({ metadata: { labels } }) => (labels?.[capiNames.clusterName] ?? cluster) === cluster,
  );
  const warning = isOurs ? healthCheckWarning(object) : undefined;
  return { errors: [], warnings: warning === undefined ? [] : [warning] };
}

const labelsOf = ({ metadata }: KubeObject) => metadata.labels ?? {};

/** What of a Secret counts: content, folder, and by what it is selected. */
const whatCounts = (secret: KubeObject | undefined) =>
  secret && [
    secret['data'],
    secret.metadata.annotations?.[ownNames.manifestFolder],
    labelsOf(secret),
  ];

const generated =
  'the files of the cluster have been generated, so that a change would have no effect: change the objects of the cluster itself';

function verifyManifests(
  stores: AdmissionStores,
  { namespace, object, before }: Asked,
): SpecFindings {
  const label = labelsOf(object)[ownNames.installManifests];
  const isLeaving = label === undefined && isDeepStrictEqual(object['data'], before?.['data']);
  if (isDeepStrictEqual(whatCounts(object), whatCounts(before)))
    return { errors: [], warnings: [] };
  const isUsed = stores
    .controlPlanes(namespace)
    .filter((controlPlane) => partOf(controlPlane, 'status', 'assets') !== undefined)
    .some((controlPlane) => {
      const selector = partOf(controlPlane, 'spec', 'manifestsSelector');
      return [object, before].some((one) => one && isSelectedBy(selector, labelsOf(one)));
    });
  if (isUsed) return { errors: [generated], warnings: [] };
  if (isLeaving) return { errors: [], warnings: [] };
  const { name } = object.metadata;
  const others = stores
    .manifestSecrets(namespace)
    .filter((one) => one.metadata.name !== name)
    .filter((one) => label !== undefined && labelsOf(one)[ownNames.installManifests] === label);
  return textsOf(checkManifests([...others, object]).filter(({ secret }) => secret === name));
}

function verifyInstallState(
  stores: AdmissionStores,
  { namespace, object, before }: Asked,
): SpecFindings {
  if (isDeepStrictEqual(object['data'], before?.['data'])) return { errors: [], warnings: [] };
  const { name } = object.metadata;
  const controlPlane = stores
    .controlPlanes(namespace)
    .find((one) => textAt(one, 'spec', 'installStateSecretRef', 'name') === name);
  if (controlPlane !== undefined && partOf(controlPlane, 'status', 'assets') !== undefined)
    return { errors: [generated], warnings: [] };
  const cluster = controlPlane?.metadata.labels?.[capiNames.clusterName];
  const { replicas } = (controlPlane as OpenShiftControlPlane | undefined)?.spec ?? {};
  return textsOf(checkInstallState(object, { cluster, replicas }));
}

const textsOf = (findings: readonly InputFinding[]): SpecFindings => ({
  errors: findings.filter(({ isWarning }) => !isWarning).map(findingText),
  warnings: findings.filter(({ isWarning }) => isWarning).map(findingText),
});
