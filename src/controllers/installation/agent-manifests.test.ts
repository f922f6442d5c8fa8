import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { tryInstallationStep } from '../../../test/support/run-installation.ts';
import {
  clusterServiceVersions,
  clusterVersions,
  configMaps,
  subscriptions,
} from '../../kube/kinds.ts';
import { minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { applyAgentManifests, readAgentManifests } from './agent-manifests.ts';

const content = (name: string) =>
  Buffer.from(`apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`).toString('base64');
const metadata = (name: string, files: readonly string[]) =>
  `namespace: openshift-${name}\nsubscriptionName: ${name}-operator\nmanifests: [${files.join(', ')}]\n`;
const lso = { 'lso.metadata.yaml': metadata('lso', ['lso.yaml']), 'lso.yaml': content('of-lso') };
const cnv = { 'cnv.metadata.yaml': metadata('cnv', ['cnv.yaml']), 'cnv.yaml': content('of-cnv') };
const manifests = (data?: Readonly<Record<string, string>>) => ({
  metadata: { name: 'olm-operator-manifests', namespace: 'assisted-installer' },
  ...(data === undefined ? {} : { data }),
});

function setUp() {
  const clock = fakeClock();
  const [kube, adminKube] = [fakeKube(), fakeKube()];
  const later = (after: number, change: () => void): void => {
    void clock.sleep(after, new AbortController().signal).then(change);
  };
  const install = (name: string) =>
    kube
      .put(subscriptions, {
        metadata: { name: `${name}-operator`, namespace: `openshift-${name}` },
        status: { currentCSV: `${name}.v1` },
      })
      .put(clusterServiceVersions, {
        metadata: { name: `${name}.v1`, namespace: `openshift-${name}` },
      });
  const available = () =>
    kube.put(clusterVersions, {
      metadata: { name: 'version' },
      status: { conditions: [{ type: 'Available', status: 'True' }] },
    });
  const run = () => tryInstallationStep(applyAgentManifests, { clock, kube, adminKube });
  const applied = () => adminKube.writes.map(({ name }) => name);
  return { clock, kube, adminKube, later, install, available, run, applied };
}

describe('the manifests of an agent-based installation', () => {
  it('are applied once the operator has its CSV, even after the cluster is available', async () => {
    const { clock, kube, later, install, available, run, applied } = setUp();
    available();
    kube.put(configMaps, manifests({ ...lso, ...cnv }));
    later(minutes(4), () => install('lso'));
    later(minutes(8), () => install('cnv'));
    expect((await run()).failure).toBeUndefined();
    expect(applied()).toEqual(['of-lso', 'of-cnv']);
    expect(clock.elapsed()).toBeLessThan(minutes(8.2));
  });

  it('are skipped half an hour after the cluster is available', async () => {
    const { clock, kube, later, install, available, run, applied } = setUp();
    kube.put(configMaps, manifests({ ...lso, ...cnv }));
    install('lso');
    later(minutes(20), available);
    expect((await run()).notes).toContain('warn: continuing without all manifests of operators');
    expect(applied()).toEqual(['of-lso']);
    expect(clock.elapsed()).toBe(minutes(50));
  });

  it('are not waited for when the ConfigMap is missing or empty', async () => {
    for (const objects of [[], [manifests()], [manifests({ other: 'x' })]]) {
      const { clock, kube, later, available, run } = setUp();
      for (const object of objects) kube.put(configMaps, object);
      later(minutes(10), available);
      expect((await run()).failure).toBeUndefined();
      expect(clock.elapsed()).toBe(objects.length === 0 ? minutes(10) : 0);
    }
  });

  it('are applied when the API server lists them late', async () => {
    const { clock, kube, install, available, run, applied } = setUp();
    available();
    install('lso');
    kube.put(configMaps, manifests(lso));
    const { follow } = kube;
    const late: typeof follow = async (selection, seen, signal) => {
      if (selection.kind === configMaps)
        await clock.sleep(minutes(5), signal).catch(() => undefined);
      return follow(selection, seen, signal);
    };
    Object.assign(kube, { follow: late });
    expect((await run()).failure).toBeUndefined();
    expect(applied()).toEqual(['of-lso']);
  });

  it('are held back with a warning while invalid, without delaying other operators', async () => {
    const { kube, later, install, run, applied } = setUp();
    install('lso');
    install('cnv');
    kube.put(configMaps, manifests({ ...lso, ...cnv, 'lso.metadata.yaml': 'manifests: [' }));
    const { 'cnv.yaml': file, ...withoutFile } = cnv;
    later(minutes(5), () => kube.put(configMaps, manifests({ ...lso, ...withoutFile })));
    later(minutes(9), () =>
      kube.put(configMaps, manifests({ ...lso, 'cnv.yaml': file, ...withoutFile })),
    );
    const { failure, notes } = await run();
    expect(failure).toBeUndefined();
    expect(applied()).toEqual(['of-cnv', 'of-lso']);
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([
      'warn: operator lso: lso.metadata.yaml cannot be read',
      'warn: operator cnv: its file cnv.yaml is missing',
    ]);
  });

  it('wait for the admin kubeconfig, which is requested before OLM is ready', async () => {
    const { clock, kube, adminKube, later, install, run, applied } = setUp();
    kube.put(configMaps, manifests(lso));
    adminKube.lastError(kubeFailure('kube.no-credentials', 'there is no kubeconfig'));
    const askedAt: number[] = [];
    const { get } = adminKube;
    const recorded: typeof get = (...given) => {
      askedAt.push(clock.elapsed());
      return get(...given);
    };
    Object.assign(adminKube, { get: recorded });
    later(minutes(3), () => adminKube.lastError(undefined));
    later(minutes(9), () => install('lso'));
    expect((await run()).failure).toBeUndefined();
    expect(applied()).toEqual(['of-lso']);
    expect(askedAt[0]).toBe(0);
    expect(askedAt.at(-1)).toBeLessThan(minutes(3.6));
  });

  it('are applied after a temporary 401', async () => {
    const { applied, install, kube, later, run } = setUp();
    kube.put(configMaps, manifests(lso));
    kube.lastError(kubeFailure('kube.denied', 'who?', { context: { status: 401 } }));
    later(minutes(1), () => kube.lastError(undefined));
    later(minutes(2), () => install('lso'));
    expect((await run()).notes).not.toContain('warn: may not read the manifests of operators');
    expect(applied()).toEqual(['of-lso']);
  });

  it('are skipped when reading them is forbidden', async () => {
    const { kube, run } = setUp();
    kube.lastError(
      kubeFailure('kube.denied', 'configmaps is forbidden', { context: { status: 403 } }),
    );
    expect((await run()).notes).toEqual(['warn: may not read the manifests of operators']);
  });
});

describe('the ConfigMap of an agent-based installation', () => {
  const named = (data: Readonly<Record<string, string>>) => {
    const { operators, manifests: found, problems } = readAgentManifests(manifests(data));
    const [names, objects] = [
      operators.map(({ name }) => name),
      found.map(({ object }) => object.metadata.name),
    ];
    return { names, objects, problems };
  };

  it('is read by operator name, with the files of an operator in the listed order', () => {
    const files = { 'b.yaml': content('second'), 'a.yaml': content('first') };
    const data = { ...lso, ...files, 'cnv.metadata.yaml': metadata('cnv', ['b.yaml', 'a.yaml']) };
    expect(named(data)).toEqual({
      names: ['cnv', 'lso'],
      objects: ['second', 'first', 'of-lso'],
      problems: [],
    });
    expect(readAgentManifests(manifests(lso)).operators).toEqual([
      { name: 'lso', namespace: 'openshift-lso', subscription: 'lso-operator' },
    ]);
  });

  it.each([
    [
      'no namespace',
      { ...lso, 'lso.metadata.yaml': 'subscriptionName: a' },
      'operator lso: lso.metadata.yaml cannot be read',
    ],
    [
      'a file name inherited from Object.prototype',
      { 'lso.metadata.yaml': metadata('lso', ['toString']) },
      'operator lso: its file toString is missing',
    ],
    [
      'a file that is not base64',
      { ...lso, 'lso.yaml': '%' },
      'operator lso: its file lso.yaml: it is not base64',
    ],
  ])('with %s holds the operator back', (_, data, problem) => {
    expect(named({ ...cnv, ...data })).toEqual({
      names: ['cnv'],
      objects: ['of-cnv'],
      problems: [problem],
    });
  });
});
