import { onTestFinished } from 'vitest';
import { controlPlaneControllers } from '../../src/capi/control-plane/controllers.ts';
import { controlPlaneStores } from '../../src/capi/control-plane/view.ts';
import {
  bootstrapConfigs,
  type OpenShiftControlPlane,
  type ControlPlaneSpec,
  controlPlanes,
  controlPlaneType,
  clusters,
  type Machine,
  capiMachines,
  ownNames,
} from '../../src/capi/api.ts';
import { jobs, pods, secrets } from '../../src/kube/kinds.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { type Millis, seconds } from '../../src/model/duration.ts';
import { assetsSecret, madeFiles } from '../../src/capi/control-plane/installer.ts';
import { partOf } from '../../src/kube/object.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Kube, KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { startControllers } from '../../src/kube/manager.ts';
import { fakeClock, settle } from './fake-clock.ts';
import { fakeKube, type FakeKube } from './fake-kube.ts';
import { fakeRandom } from './fake-random.ts';

/** Namespace of all objects of a test's cluster. */
export const capiNamespace = 'shop';

const infrastructure = 'infrastructure.cluster.x-k8s.io';
const ofLab = (plural: string): KubeKind => ({ group: infrastructure, version: 'v1beta2', plural });

/** Kinds of an infrastructure provider. */
export const labMachines = ofLab('labmachines');
export const labTemplates = ofLab('labmachinetemplates');

/** The uid of a test's initial control plane. */
export const controlPlaneUid = 'cp-uid';

/** A control plane with a user's further fields. */
export const controlPlaneOf = (spec: Partial<ControlPlaneSpec> = {}): OpenShiftControlPlane => ({
  ...controlPlaneType,
  metadata: {
    name: 'demo',
    namespace: capiNamespace,
    uid: controlPlaneUid,
    generation: 1,
    ownerReferences: [
      { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name: 'demo', uid: 'cluster-uid' },
    ],
  },
  spec: {
    replicas: 3,
    distributionVersion: '4.19.7',
    releaseImage: 'r.test/ocp@sha256:01',
    machineTemplate: {
      spec: {
        infrastructureRef: {
          apiGroup: infrastructure,
          kind: 'LabMachineTemplate',
          name: 'masters',
        },
      },
    },
    installStateSecretRef: { name: 'demo-install-state' },
    manifestsSelector: { matchLabels: { [ownNames.installManifests]: 'demo' } },
    configSpec: { agent: { image: 'r.test/agent@sha256:02' }, installDevice: '/dev/vda' },
    ...spec,
  },
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const definition = (kind: string): KubeObject => ({
  metadata: {
    name: `${kind.toLowerCase()}s.${infrastructure}`,
    labels: {
      'cluster.x-k8s.io/v1beta2': 'v1beta1_v1beta2',
      'cluster.x-k8s.io/v1beta1': 'v1beta1',
    },
  },
});

/** An install-config with a number of masters. */
export const installConfigOf = (replicas: number): string =>
  `apiVersion: v1\nmetadata: {name: demo}\ncontrolPlane: {name: master, replicas: ${replicas}}\n`;

/** The management cluster of one control plane with its infrastructure. */
export function managementCluster(
  controlPlane: OpenShiftControlPlane = controlPlaneOf(),
): FakeKube {
  const kube = fakeKube();
  const served = (group: string, kind: string, plural: string): void =>
    void kube.serves({ apiVersion: group, kind, plural, isNamespaced: true });
  served('cluster.x-k8s.io/v1beta2', 'Machine', 'machines');
  served(
    'bootstrap.cluster.x-k8s.io/v1alpha1',
    'OpenShiftBootstrapConfig',
    bootstrapConfigs.plural,
  );
  served(`${infrastructure}/v1beta2`, 'LabMachine', labMachines.plural);
  const definitions = {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    plural: 'customresourcedefinitions',
  };
  for (const kind of ['LabMachine', 'LabMachineTemplate']) kube.put(definitions, definition(kind));
  const at = (name: string) => ({ name, namespace: capiNamespace });
  kube.put(clusters, {
    metadata: { ...at('demo'), uid: 'cluster-uid' },
    spec: { controlPlaneEndpoint: { host: 'api.demo.test', port: 6443 } },
    status: { initialization: { infrastructureProvisioned: true } },
  });
  kube.put(labTemplates, {
    metadata: at('masters'),
    spec: { template: { metadata: { labels: { size: 'large' } }, spec: { cpus: 4 } } },
  });
  kube.put(secrets, {
    metadata: { ...at('demo-install-state'), labels: { [ownNames.installState]: 'demo' } },
    data: { 'install-config.yaml': base64(installConfigOf(controlPlane.spec.replicas ?? 3)) },
  });
  kube.put(controlPlanes, controlPlane);
  return kube;
}

const image = (name: string): string => `r.test/${name}@sha256:${'a'.repeat(64)}`;

/**
 * Runs the Jobs of the installer to their end, one at each call, and stores their files as the Jobs
 * do.
 */
export function jobRunner(kube: FakeKube) {
  /** Names of the Jobs that ran the installer. */
  const runs: string[] = [];
  const complete = (job: KubeObject): void =>
    void kube.put(jobs, { ...job, status: { conditions: [{ type: 'Complete', status: 'True' }] } });
  const answer = (job: KubeObject): void => {
    const { name } = job.metadata;
    kube.put(pods, {
      metadata: { name: `${name}-x`, namespace: capiNamespace, labels: { 'job-name': name } },
      status: { phase: 'Succeeded' },
    });
    kube.withPodLog(`${name}-x/images`, `${image('installer')}\n${image('mco')}\n`);
    complete(job);
  };
  const install = (job: KubeObject, now: Millis): void => {
    const { initContainers, containers } = partOf(job, 'spec', 'template', 'spec') as {
      readonly initContainers: readonly { readonly command: readonly string[] }[];
      readonly containers: readonly { readonly args: readonly string[] }[];
    };
    const args = containers[0]?.args ?? [];
    const argument = (flag: string): string => args[args.indexOf(flag) + 1] ?? '';
    const isSingleNode = JSON.stringify(initContainers).includes('single-node-ignition-config');
    runs.push(job.metadata.name);
    const file = (text: string): Uint8Array => Buffer.from(text);
    const files = {
      [isSingleNode ? madeFiles.singleNode : madeFiles.bootstrap]: file(`{"run":${runs.length}}`),
      'master.ign': file('{}'),
      'worker.ign': file('{}'),
      'metadata.json': file('{}'),
      'auth/kubeconfig': file('guest'),
      'auth/kubeadmin-password': file('secret'),
    };
    const place = {
      namespace: capiNamespace,
      cluster: argument('--cluster'),
      controlPlane: argument('--control-plane'),
      uid: argument('--uid'),
      inputsHash: argument('--inputs-hash'),
    };
    kube.put(secrets, assetsSecret(files, place, now));
    complete(job);
  };
  return {
    runs,
    run: (now: Millis): void => {
      const isOpen = (job: KubeObject): boolean =>
        partOf(job, 'status', 'conditions') === undefined;
      const [job] = kube.objectsOf(jobs).filter(isOpen);
      if (job?.metadata.name.includes('-images-') === true) answer(job);
      else if (job !== undefined) install(job, now);
    },
  };
}

interface CapiRun {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The API of the installed cluster. */
  readonly guest?: FakeKube;
}

/** Runs the control-plane provider until it is stopped; resolves with its notes. */
export async function runControlPlanes({ signal, ...run }: CapiRun): Promise<readonly string[]> {
  const { kube, clock, guest = fakeKube() } = run;
  const events: RunEvent[] = [];
  const emit = (body: object): void => {
    events.push({ ...body, at: clock.now(), run: 'test' } as RunEvent);
  };
  const ports = { kube, clock, random: fakeRandom(), emit };
  const close = (): Promise<void> => Promise.resolve();
  const controllers = controlPlaneControllers({
    stores: controlPlaneStores(ports, undefined),
    ...ports,
    openGuest: () => ({ ...guest, close }),
    ownImage: 'r.test/bootwright:1',
  });
  await startControllers({ ...ports, signal }, { name: 'test', controllers }).catch(
    () => undefined,
  );
  return events.flatMap((event) =>
    event.type === 'note' ? [`${event.level}: ${event.message}`] : [],
  );
}

interface WorkingRun extends Pick<CapiRun, 'guest'> {
  readonly kube: FakeKube;
  /** Null: the test runs the installer's Jobs itself. */
  readonly installer?: ReturnType<typeof jobRunner> | null;
}

/** Runs the control-plane provider until the test ends, with a clock that only moves in `pass`. */
export function controlPlanesAtWork({ installer, ...run }: WorkingRun, start: Millis = 0) {
  const clock = fakeClock({ auto: false, start });
  const stop = new AbortController();
  const ended = runControlPlanes({ ...run, clock, signal: stop.signal });
  const runner = installer === undefined ? jobRunner(run.kube) : installer;
  const end = async (): Promise<void> => {
    stop.abort(new Error('the test ends'));
    await ended;
  };
  onTestFinished(end);
  return {
    pass: async (time = seconds(1)): Promise<void> => {
      for (let passed = 0; passed < time; passed += 250) {
        await settle();
        runner?.run(clock.now());
        await settle();
        await clock.advance(250);
      }
      await settle();
    },
    end,
  };
}

/** The Machines of the control plane. */
export const machinesIn = (kube: FakeKube): readonly Machine[] =>
  kube.objectsOf(capiMachines) as readonly Machine[];

/** The control plane's bootstrap host. */
export const bootstrapIn = (kube: FakeKube): Machine | undefined =>
  machinesIn(kube).find(({ metadata }) => metadata.annotations?.[ownNames.role] === 'bootstrap');

/** Makes the bootstrap host report a stage. */
export const reportBootstrap = (kube: FakeKube, stage: string): void =>
  report(kube, bootstrapIn(kube)?.metadata.name ?? '', stage);

/** Makes a host report a stage. */
export function report(kube: FakeKube, name: string, stage: string): void {
  const config = kube.objectsOf(bootstrapConfigs).find(({ metadata }) => metadata.name === name);
  if (config === undefined) throw new Error(`no config ${name}`);
  const at = '2026-01-01T00:00:00Z';
  const progress = { stage, stageStartedAt: at, updatedAt: at, attempt: 1 };
  kube.put(bootstrapConfigs, { ...config, status: { ...(config['status'] as object), progress } });
}

/** A host as its infrastructure shows it. */
export interface ShownHost {
  /** Names and addresses that its infrastructure reports, distinguished by their form. */
  readonly reports?: readonly string[];
  readonly isDeleting?: true;
  readonly providerID?: string;
}

/** A Machine of a host. */
export const machineOf = (name: string, { reports = [], ...host }: ShownHost): Machine => ({
  metadata: {
    name,
    uid: name,
    ...(host.isDeleting && { deletionTimestamp: '2026-11-27T00:00:00Z' }),
  },
  spec: {
    clusterName: 'demo',
    bootstrap: { configRef: { apiGroup: '', kind: '', name } },
    infrastructureRef: { apiGroup: '', kind: '', name },
    ...(host.providerID !== undefined && { providerID: host.providerID }),
  },
  status: {
    addresses: reports.map((address) => ({
      type: /^[\d.]+$|:/.test(address) ? 'InternalIP' : 'Hostname',
      address,
    })),
  },
});

/** The present control plane. */
export const controlPlaneIn = (kube: FakeKube): OpenShiftControlPlane | undefined =>
  kube.objectsOf(controlPlanes)[0] as OpenShiftControlPlane | undefined;

/** `True Generated`: status and reason of a condition of the control plane. */
export function conditionIn(kube: FakeKube, type: string): string {
  const all = controlPlaneIn(kube)?.status?.conditions ?? [];
  const found = all.find((one) => one.type === type);
  return found === undefined ? '' : `${found.status} ${found.reason}`;
}
