import { describe, expect, it } from 'vitest';
import {
  capiNamespace,
  conditionIn,
  installConfigOf,
  managementCluster,
  controlPlanesAtWork,
} from '../../../test/support/capi-world.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { jobs, pods, secrets, serviceAccounts } from '../../kube/kinds.ts';
import { partOf } from '../../kube/object.ts';
import { seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ownNames } from '../api.ts';

const installer = `r.test/installer@sha256:${'a'.repeat(64)}`;
const mco = `r.test/mco@sha256:${'b'.repeat(64)}`;

const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'roles' };

/** A provider that makes files by Jobs. */
function byJobs() {
  const kube = managementCluster();
  return { kube, ...controlPlanesAtWork({ kube, installer: null }) };
}

const jobNamed = (kube: FakeKube, part: string): KubeObject | undefined =>
  kube.objectsOf(jobs).find(({ metadata }) => metadata.name.includes(part));

function ends(kube: FakeKube, job: KubeObject | undefined, type: 'Complete' | 'Failed'): void {
  if (job !== undefined)
    kube.put(jobs, { ...job, status: { conditions: [{ type, status: 'True' }] } });
}

function pod(kube: FakeKube, job: KubeObject | undefined, status: object): void {
  const { name = '' } = job?.metadata ?? {};
  kube.put(pods, {
    metadata: { name: `${name}-x`, namespace: capiNamespace, labels: { 'job-name': name } },
    status,
  });
}

/** A user changes the install-config. */
function setConfig(kube: FakeKube, text: string): void {
  const [secret] = kube.objectsOf(secrets);
  const data = { 'install-config.yaml': Buffer.from(text).toString('base64') };
  if (secret !== undefined) kube.put(secrets, { ...secret, data });
}

/** Lets the release answer with its images. */
async function answered(kube: FakeKube, pass: () => Promise<void>): Promise<void> {
  const asked = jobNamed(kube, 'images');
  const { name = '' } = asked?.metadata ?? {};
  pod(kube, asked, { phase: 'Succeeded' });
  kube.withPodLog(`${name}-x/images`, `${installer}\n${mco}\n`);
  ends(kube, asked, 'Complete');
  await pass();
}

describe('the files of a cluster by Jobs', () => {
  it("are made by the release's own installer, by digest, and nothing of the Jobs stays", async () => {
    const { kube, pass } = byJobs();
    await pass();
    expect(kube.objectsOf(jobs)).toHaveLength(1);
    await answered(kube, pass);
    const made = jobNamed(kube, 'installer');
    const spec = partOf(made, 'spec', 'template', 'spec') as {
      readonly initContainers: readonly { readonly image: string }[];
      readonly containers: readonly { readonly args: readonly string[] }[];
    };
    expect(spec.initContainers.map(({ image }) => image)).toEqual([installer]);
    expect(spec.containers[0]?.args.join(' ')).toContain(`--mco-image ${mco}`);
    // Files of a mounted Secret have mode 0440, and the installer overwrites its state.
    expect(JSON.stringify(spec)).toContain('cp -rL --no-preserve=mode /');
    expect(conditionIn(kube, 'AssetsGenerated')).toBe('False Generating');
    expect(kube.objectsOf(serviceAccounts)).toHaveLength(1);
    // The pod may create Secrets, and read none.
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] }];
    expect(kube.objectsOf(roles)).toMatchObject([{ rules }]);
    const annotations = {
      [ownNames.inputsHash]: '1',
      [ownNames.generatedAt]: '2026-01-01T00:00:00Z',
    };
    const labels = { 'cluster.x-k8s.io/cluster-name': 'demo' };
    const ownerReferences = partOf(made, 'metadata', 'ownerReferences');
    const place = { name: 'demo-install-assets', namespace: capiNamespace };
    const metadata = { ...place, labels, annotations, ownerReferences };
    kube.put(secrets, { metadata });
    await pass();
    expect(conditionIn(kube, 'AssetsGenerated')).toBe('True Generated');
    expect(kube.objectsOf(jobs)).toEqual([]);
    expect(kube.objectsOf(serviceAccounts)).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['a comment behind', `${installConfigOf(3)}fips: true # yes\n`, 'baremetal-installer'],
    ['elsewhere', `${installConfigOf(3)}x:\n  fips: true\n`, 'installer'],
    ['off', `${installConfigOf(3)}fips: false\n`, 'installer'],
  ])('are those of FIPS where the install-config asks for it: %s', async (...[, text, program]) => {
    const { kube, pass } = byJobs();
    setConfig(kube, text);
    await pass();
    expect(JSON.stringify(kube.objectsOf(jobs))).toContain(`image ${program}\\n`);
  });

  it('are made by the other installer once FIPS is corrected', async () => {
    const { kube, pass } = byJobs();
    await pass();
    await answered(kube, pass);
    const before = kube.objectsOf(jobs).map(({ metadata }) => metadata.name);
    setConfig(kube, `${installConfigOf(3)}fips: true\n`);
    await pass();
    const made = kube.objectsOf(jobs).filter(({ metadata }) => !before.includes(metadata.name));
    expect(JSON.stringify(made.map((one) => one['spec']))).toContain('image baremetal-installer');
  });

  it('are not made of what an install-config was before it was corrected', async () => {
    const { kube, pass } = byJobs();
    await pass();
    await answered(kube, pass);
    const before = jobNamed(kube, 'installer')?.metadata.name ?? '';
    setConfig(kube, `${installConfigOf(3)}# corrected\n`);
    await pass();
    const names = kube.objectsOf(jobs).map(({ metadata }) => metadata.name);
    expect(names.filter((name) => name.includes('installer'))).toHaveLength(1);
    expect(names).not.toContain(before);
    expect(kube.objectsOf(serviceAccounts)).toHaveLength(1);
  });

  it.each([
    [
      'failed: installer.manifests-discarded: Discarding the Openshift Manifests\nwhy: x',
      'False ManifestsDiscarded',
    ],
    ['level=error msg="platform is missing"', 'False InstallerFailed'],
    ['', 'False InstallerFailed'],
  ])('fail with what was said: %s', async (message, condition) => {
    const { kube, pass } = byJobs();
    await pass();
    await answered(kube, pass);
    const made = jobNamed(kube, 'installer');
    const terminated = { exitCode: 2, message };
    pod(kube, made, { initContainerStatuses: [{ state: { terminated } }] });
    ends(kube, made, 'Failed');
    await pass();
    expect(conditionIn(kube, 'AssetsGenerated')).toBe(condition);
    expect(kube.objectsOf(jobs)).toHaveLength(2);
    // Once it is removed it runs again, as in docs/cluster-api.md.
    if (made === undefined) throw new Error('no Job');
    kube.drop({ kind: jobs, namespace: capiNamespace, name: made.metadata.name });
    await pass(seconds(3));
    expect(jobNamed(kube, 'installer')?.['status']).toBeUndefined();
    expect(conditionIn(kube, 'AssetsGenerated')).toBe('False Generating');
  });
});
