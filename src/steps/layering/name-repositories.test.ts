import { describe, expect, it } from 'vitest';
import { requestFor } from '../../../test/layering/lane-facts.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { repositoryIn } from '../../layering/manifests/served-config.ts';
import { nameRepositories } from './manifests.ts';

const config = { layering: { mode: 'on' as const } };
const facts = { request: requestFor(['master', 'worker']) };

describe('layering/name-repositories', () => {
  it('tells workers where their images lie, among the manifests that are rendered and applied', async () => {
    const host = fakeHost();
    await runStep(nameRepositories, { config, host, facts });
    const manifest = '/opt/openshift/openshift/99-bootwright-os-repository-worker.yaml';
    expect([...host.files.keys()]).toEqual([manifest]);
    const text = host.textOf(manifest) ?? '';
    const { spec } = JSON.parse(text) as { readonly spec: { readonly config: object } };
    expect(repositoryIn(JSON.stringify(spec.config))).toBe('registry.example.com/ocl/worker');
  });
});
