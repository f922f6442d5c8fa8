// What the API server refuses by our webhooks, and the commands that begin an installation.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { KubeRefusal, openTransport } from '../../mocks/kube/transport.ts';
import { serveRoutes } from '../../src/adapters/route-server.ts';
import { findingInSecret } from '../../src/capi/admission/manifests.ts';
import { checkManifests } from '../../src/capi/admission/manifests.ts';
import {
  bootstrapAdmissionRoutes,
  controlPlaneAdmissionRoutes,
} from '../../src/capi/admission/review.ts';
import { clusters, controlPlanes, ownNames, providerNames } from '../../src/capi/api.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { secrets } from '../../src/cluster/kinds.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { transportOf } from '../kube/rig.ts';
import { controlPlaneObject, configSpec } from './cluster.ts';
import { type CapiRig, startCapi } from './rig.ts';

let rig: CapiRig;
let folder: string;
let kubeconfig: string;
const ends = new AsyncDisposableStack();
/** What the webhooks know of other objects. */
const views = {
  manifests: [] as readonly KubeObject[],
  controlPlanes: [] as readonly KubeObject[],
};

beforeAll(async () => {
  rig = await startCapi();
  ends.use(rig);
  folder = mkdtempSync(join(tmpdir(), 'bootwright-admission-'));
  ends.defer(() => {
    rmSync(folder, { recursive: true });
  });
  const pki = join(rig.kube.folder, 'pki');
  for (const end of ['crt', 'key'])
    copyFileSync(join(pki, `serving.${end}`), join(folder, `tls.${end}`));
  const stores = {
    manifestSecrets: () => views.manifests,
    controlPlanes: () => views.controlPlanes,
  };
  const server = await serveRoutes(
    {
      listen: { host: '127.0.0.1', port: 0 },
      routes: [...bootstrapAdmissionRoutes(), ...controlPlaneAdmissionRoutes(stores)],
      certificateFolder: folder,
    },
    () => undefined,
  );
  ends.defer(server.close);
  const at = {
    port: Number(new URL(server.url).port),
    ca: readFileSync(join(pki, 'ca.crt'), 'utf8'),
  };
  await rig.deploy({
    webhooks: { [providerNames.bootstrap]: at, [providerNames.controlPlane]: at },
  });
  kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, await rig.kube.kubeconfigFor({ server: rig.kube.url }));
  await rig.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo' } });
  // An API server takes a second to ask a new webhook.
  await vi.waitFor(
    async () => {
      const refusal = await refusalOf(createDry(manifestSecret('probe', 'a: [')));
      expect(refusal?.status).toBe(422);
    },
    { timeout: 300_000 },
  );
});
afterAll(() => ends.disposeAsync());
beforeEach(() => {
  views.manifests = [];
  views.controlPlanes = [];
});

const place = { namespace: 'demo' };
const configMap = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;

const manifestSecret = (name: string, text: string): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Secret' },
  metadata: {
    ...{ name, ...place, labels: { [ownNames.installManifests]: 'demo' } },
    annotations: { [ownNames.manifestFolder]: 'manifests' },
  },
  stringData: { [`${name}.yaml`]: text },
});

/** As `kubectl create --dry-run=server`. */
async function createDry(body: KubeObject): Promise<void> {
  const transport = openTransport(transportOf(readFileSync(kubeconfig, 'utf8')));
  try {
    await transport.send({
      method: 'POST',
      path: `/api/v1/namespaces/demo/secrets?dryRun=All`,
      body,
    });
  } finally {
    await transport.close();
  }
}

interface Refusal {
  readonly status: number;
  readonly message: string;
}

const refusalOf = (asked: Promise<unknown>): Promise<Refusal | undefined> =>
  asked.then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof KubeRefusal)) throw error;
      return { status: error.status, message: error.message };
    },
  );

describe('R50: manifest Secrets', () => {
  it('are refused with line and column of everything that is wrong', async () => {
    const text = `${configMap('a')}data:\n  on: yes\n  on: "no"\n`;
    const refusal = await refusalOf(rig.client.create(secrets, manifestSecret('wrong', text)));
    expect(refusal?.status).toBe(422);
    expect(refusal?.message).toMatch(/: data\[wrong\.yaml\]:7:3: Map keys must be unique$/);
    expect(await rig.client.get({ kind: secrets, ...place, name: 'wrong' })).toBeUndefined();
  });

  it('are taken when they are right, and others are not asked about', async () => {
    await rig.client.create(secrets, manifestSecret('right', configMap('right')));
    const { metadata, ...rest } = manifestSecret('other', 'a: [');
    const { labels: _, ...unlabelled } = metadata;
    await rig.client.create(secrets, { ...rest, metadata: unlabelled });
  });

  it('are checked as much when nothing is to be kept', async () => {
    const refusal = await refusalOf(createDry(manifestSecret('dry', 'a: [')));
    expect(refusal?.status).toBe(422);
    expect(await refusalOf(createDry(manifestSecret('dry', configMap('dry'))))).toBeUndefined();
    expect(await rig.client.get({ kind: secrets, ...place, name: 'dry' })).toBeUndefined();
  });

  it('are refused when their content breaks while their label goes', async () => {
    await rig.client.create(secrets, manifestSecret('labelled', configMap('labelled')));
    const ref = { kind: secrets, ...place, name: 'labelled' };
    const labels = { [ownNames.installManifests]: null };
    const broken = { metadata: { labels }, stringData: { 'labelled.yaml': 'a: [' } };
    expect((await refusalOf(rig.client.merge(ref, broken)))?.status).toBe(422);
    expect(await refusalOf(rig.client.merge(ref, { metadata: { labels } }))).toBeUndefined();
  });

  it('of one object at the same moment are all taken by late views, and found when they are used', async () => {
    const names = Array.from({ length: 8 }, (_, at) => `race-${at}`);
    const made = await Promise.all(
      names.map((name) =>
        refusalOf(rig.client.create(secrets, manifestSecret(name, configMap('one')))),
      ),
    );
    expect(made).toEqual(names.map(() => undefined));
    const all = (await rig.client.list({ kind: secrets, ...place })).filter(({ metadata }) =>
      metadata.name.startsWith('race-'),
    );
    const found = checkManifests(all);
    expect(found.map(({ isDuplicate }) => isDuplicate)).toEqual(names.slice(1).map(() => true));
    views.manifests = all;
    const late = await refusalOf(
      rig.client.create(secrets, manifestSecret('late', configMap('one'))),
    );
    expect(late?.message).toContain('also in data[race-0.yaml]:4 of the Secret race-0');
    expect(findingInSecret(found[0]!)).toContain('race-1/race-1.yaml:4:3: ');
  });
});

describe('R51: specs', () => {
  it('of a control plane and of a config', async () => {
    const object = controlPlaneObject('demo', {
      configSpec: { ...configSpec, ignitionConfigOverride: '{}' },
    });
    const refusal = await refusalOf(rig.client.create(controlPlanes, object));
    expect(refusal?.status).toBe(422);
    expect(refusal?.message).toContain('spec.configSpec.ignitionConfigOverride: ');
  });

  it('of an install-config', async () => {
    const state = {
      ...{ apiVersion: 'v1', kind: 'Secret' },
      metadata: { name: 'state', ...place, labels: { [ownNames.installState]: 'demo' } },
      stringData: {
        'install-config.yaml':
          'apiVersion: v1\nmetadata: {name: demo}\ncontrolPlane: {replicas: 2}\n',
      },
    };
    const refusal = await refusalOf(rig.client.create(secrets, state));
    expect(refusal?.status).toBe(422);
    expect(refusal?.message).toContain(
      'data[install-config.yaml]:3:16: controlPlane.replicas must be 1, 3, 4 or 5',
    );
  });
});

describe('R10 to R22: render and apply', () => {
  const dirOf = (name: string): string => {
    const dir = join(folder, name);
    mkdirSync(join(dir, 'manifests'), { recursive: true });
    writeFileSync(
      join(dir, 'install-config.yaml'),
      [
        `apiVersion: v1\nmetadata: {name: ${name}}\nbaseDomain: example.com`,
        'controlPlane: {name: master, replicas: 3}\ncompute: [{name: worker, replicas: 2}]',
        `platform: {none: {}}\npullSecret: '{"auths":{}}'\n`,
      ].join('\n'),
    );
    writeFileSync(join(dir, 'manifests', 'own.yaml'), configMap('own'));
    return dir;
  };
  let printed: string[];
  beforeEach(() => {
    printed = [];
    const keep = (text: unknown): boolean => printed.push(String(text)) > 0;
    vi.spyOn(process.stdout, 'write').mockImplementation(keep);
    vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const render = (dir: string) =>
    bootwright().run([
      ...['capi', 'render', '--dir', dir, '--platform', 'external'],
      ...['--release-image', `registry.example/release@sha256:${'0'.repeat(64)}`],
      ...['--openshift-version', '4.20.0', '--agent-image', 'registry.example/bootwright:latest'],
      ...['--install-device', '/dev/vda'],
    ]);
  const apply = (dir: string, ...more: readonly string[]) =>
    bootwright().run(['capi', 'apply', '--dir', dir, '--kubeconfig', kubeconfig, ...more]);
  const edit = (dir: string, name: string, change: (text: string) => string): void => {
    const path = join(dir, 'infrastructure-manifests', name);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  /** What a user fills in of an infrastructure of their own. */
  const fill = (dir: string): void => {
    const to = (kind: string) => (text: string) =>
      text.replaceAll(
        /infrastructureRef:\n(\s+)apiGroup: ""\n\s+kind: ""/g,
        `infrastructureRef:\n$1apiGroup: infrastructure.cluster.x-k8s.io\n$1kind: ${kind}`,
      );
    edit(dir, '20-control-plane.yaml', to('DevMachineTemplate'));
    edit(dir, '40-workers.yaml', to('DevMachineTemplate'));
    edit(dir, '30-cluster.yaml', to('DevCluster'));
  };
  const machineDeployments: KubeKind = { ...clusters, plural: 'machinedeployments' };

  it('write numbered files, and never overwrite one', async () => {
    const dir = dirOf('numbered');
    expect(await render(dir)).toBe(0);
    const files = readdirSync(join(dir, 'infrastructure-manifests'));
    expect(files).toEqual([
      ...['00-namespace.yaml', '05-pull-secret.yaml', '20-control-plane.yaml', '30-cluster.yaml'],
      '40-workers.yaml',
    ]);
    expect(printed.filter((line) => line.startsWith('fill in'))).toHaveLength(3);
    edit(dir, '40-workers.yaml', () => '# mine\n');
    expect(await render(dir)).toBe(0);
    expect(readFileSync(join(dir, 'infrastructure-manifests', '40-workers.yaml'), 'utf8')).toBe(
      '# mine\n',
    );
  });

  it('refuse what is not right before anything is sent', async () => {
    const dir = dirOf('refused');
    await render(dir);
    writeFileSync(join(dir, 'manifests', 'bad.yaml'), 'a: [');
    await expect(apply(dir)).rejects.toMatchObject({ code: 'capi.input-invalid', kind: 'input' });
    const text = printed.join('');
    expect(text).toMatch(/^error: manifests\/bad\.yaml:1:5: /m);
    expect(text).toContain(
      'error: infrastructure-manifests/30-cluster.yaml: spec.infrastructureRef.kind: is required',
    );
    expect(await rig.client.list({ kind: secrets, namespace: 'refused' })).toEqual([]);
  });

  it('begin an installation, say the same twice, follow the files, and stop where somebody else has changed it', async () => {
    const dir = dirOf('begun');
    await render(dir);
    fill(dir);
    expect(await apply(dir, '--check')).toBe(0);
    expect(await rig.client.list({ kind: clusters, namespace: 'begun' })).toEqual([]);
    expect(await apply(dir)).toBe(0);
    const ref = { kind: controlPlanes, namespace: 'begun', name: 'begun' };
    expect(await rig.client.get(ref)).toMatchObject({ spec: { replicas: 3 } });
    const own = { kind: secrets, namespace: 'begun', name: 'begun-manifests-0' };
    const before = await rig.client.get(own);
    expect(before).toMatchObject({
      metadata: {
        labels: { [ownNames.installManifests]: 'begun', 'cluster.x-k8s.io/cluster-name': 'begun' },
        annotations: { [ownNames.manifestFolder]: 'manifests' },
      },
      data: { 'own.yaml': Buffer.from(configMap('own')).toString('base64') },
    });
    expect(await apply(dir)).toBe(0);
    expect((await rig.client.get(own))?.metadata.resourceVersion).toBe(
      before?.metadata.resourceVersion,
    );
    rmSync(join(dir, 'manifests', 'own.yaml'));
    expect(await apply(dir)).toBe(0);
    expect(await rig.client.get(own)).toBeUndefined();
    const deployment = { kind: machineDeployments, namespace: 'begun', name: 'begun-workers' };
    await rig.client.merge(deployment, { spec: { replicas: 4 } });
    await expect(apply(dir)).rejects.toMatchObject({ code: 'capi.conflict', kind: 'cluster' });
    await apply(dir).catch((error: unknown) => {
      expect(String(error)).toMatch(
        /MachineDeployment begun\/begun-workers: .*conflict with ".+".*\.spec\.replicas/s,
      );
    });
    expect(await rig.client.get(deployment)).toMatchObject({ spec: { replicas: 4 } });
  });
});
