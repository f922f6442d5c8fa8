import { describe, expect, it } from 'vitest';
import { requestFor } from '../../../test/layering/lane-facts.ts';
import { osConfigManifest, pushSecretManifest } from '../../../test/layering/manifests.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { repositoryIn } from '../../layering/manifests/served-config.ts';
import { addDefaultOsConfigs, nameRepositories } from './manifests.ts';
import { readOsConfigs } from './os-configs.ts';

describe('layering/add-default-os-configs', () => {
  const folder = '/opt/openshift/openshift';
  const pullSecret = JSON.stringify({
    auths: { 'quay.io': { auth: 'cmVsZWFzZQ==' }, 'registry.example.com': { auth: 'cHVzaA==' } },
  });
  const host = (secret = pullSecret) =>
    fakeHost()
      .withFile('/root/.docker/config.json', secret)
      .withFile('/opt/openshift/manifests/x.yaml', '{}');
  const configOf = (pushTo: string): ConfigInput => ({
    cluster: { openshiftVersion: '4.21.0' },
    layering: { pushTo },
  });
  const config = configOf('registry.example.com/ocl');

  it('writes manifests that the next step reads as a request for each pool', async () => {
    const machine = host();
    const { notes } = await runStep(addDefaultOsConfigs, { host: machine, config });
    expect(notes).toEqual([expect.stringContaining('may push to registry.example.com/ocl')]);
    const { value } = await runStep(readOsConfigs, {
      host: machine,
      config,
      facts: { bootstrap: { path: '/b.ign', sha256: '', openshiftVersion: '4.21.0' } },
    });
    expect(value).toMatchObject({
      kind: 'on',
      pools: ['master', 'worker'].map((pool) => ({
        pool,
        repository: `registry.example.com/ocl/${pool}`,
      })),
    });
  });

  it('copies only the entry of the push registry from the pull secret', async () => {
    const machine = host();
    await runStep(addDefaultOsConfigs, { host: machine, config });
    const { signal } = new AbortController();
    const text = (await machine.readText(`${folder}/99-bootwright-push-secret.yaml`, signal)) ?? '';
    const { data } = JSON.parse(text) as { data: Record<string, string> };
    const held = Buffer.from(data['.dockerconfigjson'] ?? '', 'base64').toString();
    expect(JSON.parse(held)).toEqual({ auths: { 'registry.example.com': { auth: 'cHVzaA==' } } });
  });

  it('skips a pool with an existing MachineOSConfig', async () => {
    const machine = host()
      .withFile('/opt/openshift/openshift/push.yaml', pushSecretManifest())
      .withFile('/opt/openshift/openshift/master.yaml', osConfigManifest('master'));
    await runStep(addDefaultOsConfigs, { host: machine, config });
    const { signal } = new AbortController();
    expect(
      await machine.readText(`${folder}/99-bootwright-os-master.yaml`, signal),
    ).toBeUndefined();
    expect(await machine.readText(`${folder}/99-bootwright-os-worker.yaml`, signal)).toContain(
      'ocl/worker',
    );
  });

  it.each([
    [
      'a repository with more than one namespace',
      configOf('registry.example.com/a/b'),
      host(),
      'push-to-unusable',
    ],
    ['a host without a dot', configOf('registry/ocl'), host(), 'push-to-unusable'],
    [
      'a pull secret without the registry',
      config,
      host('{"auths":{"quay.io":{}}}'),
      'no-push-credentials',
    ],
  ])('refuses %s', async (...[, given, machine, code]) => {
    const { failure } = await tryStep(addDefaultOsConfigs, { host: machine, config: given });
    expect(failure).toMatchObject({ code: `layering.${code}` });
  });
});

describe('layering/name-repositories', () => {
  const config = { layering: { mode: 'on' as const } };
  const facts = { request: requestFor(['master', 'worker']) };

  it('writes the repository of the workers into the manifests', async () => {
    const host = fakeHost();
    await runStep(nameRepositories, { config, host, facts });
    const manifest = '/opt/openshift/openshift/99-bootwright-os-repository-worker.yaml';
    expect([...host.files.keys()]).toEqual([manifest]);
    const text = host.textOf(manifest) ?? '';
    const { spec } = JSON.parse(text) as { readonly spec: { readonly config: object } };
    expect(repositoryIn(JSON.stringify(spec.config))).toBe('registry.example.com/ocl/worker');
  });
});
