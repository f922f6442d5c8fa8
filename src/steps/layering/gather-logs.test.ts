import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { requestFor } from '../../../test/layering/lane-facts.ts';
import { osConfigManifest } from '../../../test/layering/manifests.ts';
import { poolText, renderedName, renderedText } from '../../../test/layering/rendered.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { events, machineConfigs, machineOSConfigs, nodes, pods } from '../../kube/kinds.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { bundleFolder, withoutSecretLooks } from '../../layering/registry/log-secrets.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { asideFolders } from '../../layering/manifests/bootstrap-files.ts';
import { stagingFiles, stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { masker } from '../../lib/masker.ts';
import { unlimited } from '../../model/duration.ts';
import { Secret } from '../../model/secret.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { Collector } from '../logs/collectors.ts';
import { gatherLogs, gatherLogsAtTheEnd, openBundle } from './gather-logs.ts';

/** Each name makes another secret; all of them have the same prefix. */
const planted = (name: string): string => `planted-${name}-7f3a9c`;
const auth = (name: string): string => Buffer.from(`somebody:${planted(name)}`).toString('base64');
const auths = (registry: string, name: string): string =>
  JSON.stringify({ auths: { [registry]: { auth: auth(name) } } });

const config: ConfigInput = {
  cluster: { id: 'c', hostId: 'h' },
  service: { url: 'http://svc.example', token: new Secret(planted('service')) },
  layering: { mode: 'on' },
};

const secretManifest = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'push', namespace: 'openshift-machine-config-operator' },
  type: 'kubernetes.io/dockerconfigjson',
  data: {
    '.dockerconfigjson': Buffer.from(auths('registry.example.com', 'push')).toString('base64'),
  },
});

const rendered = renderedText('master').replace(
  '{ignition: {version: 3.5.0}}',
  `{ignition: {version: 3.5.0}, storage: {files: [{path: /var/lib/kubelet/config.json, contents: {source: "data:,${planted('ignition')}"}}]}}`,
);

const { scratch } = stagingPlaces;
const serverLog = '/var/log/containers/x_y_machine-config-server-1.log';

/** A host whose logs contain every registered secret, and some that are not registered. */
function hostWithSecrets(): FakeHost {
  const everything = ['service', 'pull', 'staging', 'push', 'header']
    .flatMap((name) => [planted(name), auth(name), `"auth":"${auth(name)}"`])
    .join(' ');
  const log = `${everything}\nAuthorization: Basic ${planted('unknown')}\nSTEP 3/4: RUN dnf\n`;
  const host = fakeHost()
    .withFile(`${asideFolders.osConfigs}/master.yaml`, osConfigManifest('master'))
    .withFile(`${asideFolders.secrets}/push.yaml`, secretManifest)
    .withFile(PULL_SECRET_PATH, auths('quay.io', 'pull'))
    .withFile(stagingFiles.authFile, auths('127.0.0.1:22626', 'staging'))
    .withFile(`${stagingFiles.served}/tls.key`, planted('key'))
    .withFile('/opt/openshift/master.ign', planted('ignition'))
    .withFile(`/etc/mcs/bootstrap/machine-pools/master.yaml`, poolText('master'))
    .withFile(`/etc/mcs/bootstrap/machine-configs/${renderedName('master')}.yaml`, rendered)
    .withFile(`${scratch}/master/context/Containerfile`, `FROM configs\n# ${planted('push')}\n`)
    .withFile(`${scratch}/master/build.log`, log)
    .withFile(serverLog, log)
    .withFile('/etc/containers/registries.conf', '[[registry]]\n')
    .withFile('/etc/containers/policy.json', '{"default":[]}');
  for (const program of ['install', 'cp', 'df', 'free', 'ls', 'find', 'ostree']) {
    host.on([program, rest]).prints('ran');
  }
  host.on(['journalctl', rest]).prints(log);
  host.on(['podman', rest]).fails(125, log);
  host.on(['buildah', rest]).isMissing();
  return host;
}

const clusterWithSecrets = () =>
  fakeKube()
    .put(machineOSConfigs, { metadata: { name: 'master' }, spec: { token: planted('unknown') } })
    .put(machineConfigs, {
      metadata: { name: renderedName('master') },
      spec: { config: { storage: { files: [{ contents: { source: planted('ignition') } }] } } },
    })
    .put(nodes, { metadata: { name: 'm1', annotations: { other: planted('unknown') } } })
    .put(pods, operatorPod('machine-config-daemon-x', 'machine-config-daemon'))
    .put(pods, operatorPod('machine-os-builder-y', 'machine-os-builder'))
    .put(events, {
      metadata: { name: 'e', namespace: operatorNamespace },
      involvedObject: { kind: 'Pod', name: 'machine-os-builder-y' },
      type: 'Warning',
      reason: 'BackOff',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 3,
      message: `token=${planted('unknown')}`,
    })
    .withPodLog('machine-config-daemon-x/machine-config-daemon', `I: ${planted('push')}\n`)
    .withPodLog('machine-os-builder-y/machine-os-builder', 'building\n');

const operatorPod = (name: string, container: string): KubeObject => ({
  metadata: { name, namespace: operatorNamespace, annotations: { other: planted('unknown') } },
  spec: {
    nodeName: 'm1',
    containers: [
      { name: container, env: [{ name: 'X', value: planted('unknown') }] },
      { name: 'kube-rbac-proxy' },
    ],
  },
  status: { containerStatuses: [{ name: container, restartCount: 7 }] },
});

const bundleOf = (host: FakeHost): ReadonlyMap<string, string> =>
  new Map(
    [...host.files.keys()]
      .filter((path) => path.startsWith(`${bundleFolder}/`))
      .map((path) => [path.slice(bundleFolder.length + 1), host.textOf(path) ?? '']),
  );

const facts = { request: requestFor(['master']) };

describe('layering/gather-logs', () => {
  it('collects the files of the build with mode 0600', async () => {
    const host = hostWithSecrets();
    await runStep(gatherLogs, { config, facts, host, kube: clusterWithSecrets() });
    const bundle = bundleOf(host);
    expect([...bundle.keys()]).toEqual(
      expect.arrayContaining([
        ...['index.txt', 'credentials.json', 'os-config-master.yaml', 'pool-master.yaml'],
        ...[`${renderedName('master')}.yaml`, 'master-Containerfile', 'master-build.log'],
        ...['container-x_y_machine-config-server-1.log', 'registry.log', 'units.log'],
        ...['podman-info.txt', 'disk-space.txt', 'cluster-machineosconfigs.yaml'],
        ...['cluster-nodes.yaml', 'registries.conf', 'policy.json'],
      ]),
    );
    expect(bundle.get('master-build.log')).toContain('STEP 3/4: RUN dnf');
    expect(bundle.get('os-config-master.yaml')).toContain('rpm-ostree install tcpdump');
    expect(bundle.get('podman-info.txt')).toContain('STEP 3/4');
    expect(bundle.get('index.txt')).toMatch(/buildah-info\.txt: .*buildah/);
    expect(JSON.parse(bundle.get('credentials.json') ?? '')).toEqual([
      { from: PULL_SECRET_PATH, registries: ['quay.io'] },
      { from: stagingFiles.authFile, registries: ['127.0.0.1:22626'] },
      { from: `${asideFolders.secrets}/push.yaml`, registries: ['registry.example.com'] },
    ]);
    for (const path of bundle.keys()) {
      expect(host.files.get(`${bundleFolder}/${path}`)?.mode).toBe(0o600);
    }
  });

  it('collects the logs, pods and events of the Machine Config Operator', async () => {
    const host = hostWithSecrets();
    await runStep(gatherLogs, { config, facts, host, kube: clusterWithSecrets() });
    const bundle = bundleOf(host);
    expect([...bundle.keys()].filter((name) => name.startsWith('pod-m'))).toEqual([
      'pod-machine-os-builder-y-machine-os-builder.log',
      'pod-machine-config-daemon-x-machine-config-daemon.log',
    ]);
    expect(bundle.get('pod-machine-config-daemon-x-machine-config-daemon.log')).toBe('I: ***\n');
    expect(bundle.get('cluster-pods.yaml')).toMatch(/nodeName: m1\n[\s\S]*restartCount: 7\n/);
    expect(bundle.get('cluster-events.txt')).toBe(
      '2026-01-01T00:00:00Z Warning BackOff Pod/machine-os-builder-y: token=*** (3 times)\n',
    );
  });

  it('contains none of the secrets from any source', async () => {
    const host = hostWithSecrets();
    const { events } = await runStep(gatherLogs, {
      config,
      facts,
      host,
      kube: clusterWithSecrets(),
      secrets: [planted('header')],
    });
    const whole = [...bundleOf(host)].flat().join('\n');
    for (const name of [
      ...['service', 'pull', 'staging', 'push', 'key', 'ignition', 'unknown', 'header'],
    ]) {
      expect(whole, name).not.toContain(planted(name));
      expect(whole, name).not.toContain(auth(name).slice(4));
    }
    expect(JSON.stringify([host.ran, events])).not.toContain('planted');
  });

  it('does not fail without a cluster or a writable folder', async () => {
    const host = hostWithSecrets();
    const kube = fakeKube().lastError(kubeFailure('kube.unreachable', 'down'));
    expect((await runStep(gatherLogs, { config, facts, host, kube })).notes).toEqual([]);
    expect(bundleOf(host).get('index.txt')).toContain('cluster-nodes.yaml: ');
    host.on(['install', rest]).fails(1, 'read-only file system');
    const { notes } = await runStep(gatherLogs, { config, facts, host });
    expect(notes).toEqual(['warn: the logs of the image builds are not gathered']);
  });
});

describe('layering/gather-logs-at-the-end', () => {
  it('collects nothing once the build folder is removed', async () => {
    const host = hostWithSecrets();
    await runStep(gatherLogs, { config, facts, host });
    for (const path of [...host.files.keys()].filter((one) => one.startsWith(scratch))) {
      await host.remove(path, new AbortController().signal);
    }
    const before = host.ran.length;
    await runStep(gatherLogsAtTheEnd, { config, host });
    expect(host.ran).toHaveLength(before);
  });

  it('runs nothing on a host without builds', async () => {
    const host = fakeHost();
    await runStep(gatherLogsAtTheEnd, { config, host });
    expect(host.ran).toEqual([]);
  });
});

const lines = (text: string): string => Array.from({ length: 50 }, () => `${text}\n`).join('');
const rowOf = (name: string): Collector => ({
  name,
  what: '',
  from: { own: true },
  mostBytes: 60,
  limit: unlimited,
});

function open(texts: Readonly<Record<string, string>>, signal = new AbortController().signal) {
  const host = fakeHost();
  const { mask, register } = masker();
  register(new Secret('known-secret'));
  const read = ([name, text]: readonly [string, string]) =>
    [name, () => Promise.resolve(text)] as const;
  const failed = (): Promise<string> => Promise.reject(new Error('known-secret is wrong'));
  const own = { ...Object.fromEntries(Object.entries(texts).map(read)), failed };
  const reach = { host, signal, clock: fakeClock(), own };
  const bundle = openBundle(reach, (text) => withoutSecretLooks(mask(text)), 100);
  return {
    add: (name: string) => bundle.add(rowOf(name)),
    close: bundle.close,
    textOf: (name: string) => host.textOf(`${bundleFolder}/${name}`),
  };
}

describe('openBundle', () => {
  it('keeps the end of a long log within the size limit of the bundle', async () => {
    const names = ['one', 'two', 'three'];
    const texts = Object.fromEntries(names.map((name) => [name, lines(name)]));
    const { add, close, textOf } = open(texts);
    for (const name of names) await add(name);
    await close('title');
    expect(textOf('one')).toMatch(/^\(earlier lines are left out\)\n(one\n){14}$/);
    expect(textOf('three')).toMatch(/^\(earlier lines are left out\)\n$/);
    expect(textOf('index.txt')).toMatch(/^title\none: \d+ of 200 bytes\ntwo: /);
  });

  it('masks known secrets and texts that look like secrets', async () => {
    const { add, close, textOf } = open({ log: 'known-secret token=abc\n' });
    await add('log');
    await add('failed');
    await close('title');
    expect(textOf('log')).toBe('*** token=***\n');
    expect(textOf('index.txt')).toContain('failed: *** is wrong');
  });
});
