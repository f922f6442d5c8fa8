import { describe, expect, it } from 'vitest';
import {
  capiNamespace,
  conditionIn,
  installConfigOf,
  managementCluster,
  controlPlanesAtWork,
} from '../../../test/support/capi-world.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { jobs, pods, secrets, serviceAccounts } from '../../cluster/kinds.ts';
import { partOf } from '../../layering/api/cluster-object.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ownNames } from '../api.ts';

const installer = `r.test/installer@sha256:${'a'.repeat(64)}`;
const mco = `r.test/mco@sha256:${'b'.repeat(64)}`;

/** A provider without a program of its own. */
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

/** The release answers which images it has. */
async function answered(kube: FakeKube, pass: () => Promise<void>): Promise<void> {
  const asked = jobNamed(kube, 'images');
  const { name = '' } = asked?.metadata ?? {};
  pod(kube, asked, { phase: 'Succeeded' });
  kube.withPodLog(`${name}-x/installer`, `${installer}\n`);
  kube.withPodLog(`${name}-x/machine-config-operator`, `${mco}\n`);
  kube.withPodLog(`${name}-x/coreos`, '');
  ends(kube, asked, 'Complete');
  await pass();
}

describe('the files of a cluster by Jobs', () => {
  it("are made by the release's own installer, by digest, and nothing of the Jobs stays", async () => {
    const { kube, pass, end } = byJobs();
    await pass();
    expect(kube.objectsOf(jobs)).toHaveLength(1);
    await answered(kube, pass);
    const made = jobNamed(kube, 'installer');
    const spec = partOf(made, 'spec', 'template', 'spec') as {
      readonly initContainers: readonly { readonly image: string }[];
      readonly containers: readonly { readonly args: readonly string[] }[];
    };
    expect(spec.initContainers.map(({ image }) => image)).toEqual([installer]);
    expect(spec.containers[0]?.args.join(' ')).toContain(
      `--machine-network=192.0.2.0/24 --mco-image ${mco}`,
    );
    expect(conditionIn(kube, 'AssetsGenerated')).toBe('False Generating');
    const [account] = kube.objectsOf(serviceAccounts);
    expect(account).toBeDefined();
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
    await end();
  });

  it('are not made of what an install-config was before it was corrected', async () => {
    const { kube, pass, end } = byJobs();
    await pass();
    await answered(kube, pass);
    const before = jobNamed(kube, 'installer')?.metadata.name ?? '';
    const [state] = kube.objectsOf(secrets);
    const text = Buffer.from(`${installConfigOf(3)}# corrected\n`).toString('base64');
    if (state !== undefined) kube.put(secrets, { ...state, data: { 'install-config.yaml': text } });
    await pass();
    const names = kube.objectsOf(jobs).map(({ metadata }) => metadata.name);
    expect(names.filter((name) => name.includes('installer'))).toHaveLength(1);
    expect(names).not.toContain(before);
    expect(kube.objectsOf(serviceAccounts)).toHaveLength(1);
    await end();
  });

  it.each([
    [
      'failed: installer.manifests-discarded: Discarding the Openshift Manifests\nwhy: x',
      'False ManifestsDiscarded',
    ],
    ['level=error msg="platform is missing"', 'False InstallerFailed'],
    ['', 'False InstallerFailed'],
  ])('fail with what was said: %s', async (message, condition) => {
    const { kube, pass, end } = byJobs();
    await pass();
    await answered(kube, pass);
    const made = jobNamed(kube, 'installer');
    const terminated = { exitCode: 2, message };
    pod(kube, made, { initContainerStatuses: [{ state: { terminated } }] });
    ends(kube, made, 'Failed');
    await pass();
    expect(conditionIn(kube, 'AssetsGenerated')).toBe(condition);
    expect(kube.objectsOf(jobs)).toHaveLength(2);
    await end();
  });
});
