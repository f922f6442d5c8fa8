import { describe, expect, it } from 'vitest';
import { requestFor } from '../../../test/layering/lane-facts.ts';
import { osConfigManifest, pushSecretManifest } from '../../../test/layering/manifests.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { asideFolders } from '../../layering/manifests/bootstrap-files.ts';
import { setAsideOsConfigs } from './os-configs.ts';

const { osConfigs, secrets } = asideFolders;
const asidePath = (pool: string): string => `${osConfigs}/${pool}.yaml`;
const asideSecret = (name: string): string => `${secrets}/${name}.yaml`;

const config = { cluster: { openshiftVersion: '4.21.0' } };
const facts = { request: requestFor(['master', 'worker']) };
const alone = '/opt/openshift/openshift/worker.yaml';
const shared = '/opt/openshift/manifests/all.yaml';
const other = '/opt/openshift/manifests/other.yaml';
const host = () =>
  fakeHost()
    .on([
      ...['install', '--directory', '--mode', '0700', '/opt/openshift/bootwright-layering'],
      ...[osConfigs, secrets],
    ])
    .prints('')
    .withFile(alone, osConfigManifest('worker'))
    .withFile(shared, `${pushSecretManifest()}---\n${osConfigManifest('master')}`)
    .withFile(other, `# of the MachineOSConfig infra\n${osConfigManifest('infra')}`);

describe('layering/stash-os-configs', () => {
  it('takes them out of the manifests, and nothing else', async () => {
    const machine = host();
    await runStep(setAsideOsConfigs, { host: machine, config, facts });
    expect(machine.textOf(asidePath('worker'))).toBe(osConfigManifest('worker'));
    expect(machine.textOf(asidePath('master'))?.trimStart()).toBe(osConfigManifest('master'));
    expect(machine.files.has(alone)).toBe(false);
    expect(machine.textOf(shared)).toBe(pushSecretManifest());
    expect(machine.textOf(asideSecret('push'))).toBe(pushSecretManifest());
    expect(machine.textOf(other)).toContain('name: infra');
  });

  it('continues where it was stopped between the two', async () => {
    const machine = host().withFile(asidePath('worker'), 'an older text');
    await machine.remove(shared, new AbortController().signal);
    machine
      .withFile(asidePath('master'), osConfigManifest('master'))
      .withFile(asideSecret('push'), pushSecretManifest());
    await runStep(setAsideOsConfigs, { host: machine, config, facts });
    expect(machine.textOf(asidePath('worker'))).toBe(osConfigManifest('worker'));
    expect(machine.textOf(asidePath('master'))).toBe(osConfigManifest('master'));
  });

  it.each([alone, shared])('fails when what was in %s is in neither place', async (path) => {
    const machine = host();
    await machine.remove(path, new AbortController().signal);
    const { failure } = await tryStep(setAsideOsConfigs, { host: machine, config, facts });
    expect(failure).toMatchObject({ code: 'layering.not-stashed' });
  });
});
