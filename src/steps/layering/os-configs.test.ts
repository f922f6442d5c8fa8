import { describe, expect, it } from 'vitest';
import { requestFor } from '../../../test/layering/lane-facts.ts';
import { osConfigManifest, pushSecretManifest } from '../../../test/layering/manifests.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { asideFolders } from '../../layering/manifests/bootstrap-files.ts';
import { readOsConfigs, setAsideOsConfigs, checkSingleNode } from './os-configs.ts';

describe('layering/read-os-configs', () => {
  const folder = '/opt/openshift';
  const host = () =>
    fakeHost()
      .withFile(`${folder}/openshift/push.yml`, pushSecretManifest())
      .withFile(`${folder}/manifests/worker.json`, JSON.stringify({ kind: 'ConfigMap' }))
      .withFile(`${folder}/openshift/script.sh`, 'MachineOSConfig');
  const ordering = (text = osConfigManifest('master')) =>
    host()
      .withFile(`${folder}/openshift/worker.yaml`, osConfigManifest('worker'))
      .withFile(`${folder}/manifests/master.yaml`, text);
  const factsOf = (config: ConfigInput) => ({
    bootstrap: { path: '/b.ign', sha256: '', openshiftVersion: config.cluster?.openshiftVersion },
  });
  const configOf = (
    openshiftVersion: string,
    layering: ConfigInput['layering'] = {},
  ): ConfigInput => ({
    cluster: { openshiftVersion },
    layering,
  });
  const given = (openshiftVersion: string, layering: ConfigInput['layering'] = {}) => {
    const config = configOf(openshiftVersion, layering);
    return { config, facts: factsOf(config) };
  };

  it('requests the images of the manifests, masters first', async () => {
    const { value } = await runStep(readOsConfigs, {
      host: ordering(),
      ...given('4.21.3'),
    });
    expect(value).toEqual({
      kind: 'on',
      why: expect.stringContaining('4.21.3') as string,
      pools: ['master', 'worker'].map((pool) => ({
        pool,
        object: expect.objectContaining({ kind: 'MachineOSConfig' }) as object,
        config: expect.objectContaining({ name: pool }) as object,
        pushSecret: '/opt/openshift/bootwright-layering/secrets/push.yaml',
        repository: `registry.example.com/ocl/${pool}`,
      })),
    });
  });

  it('leaves the images of an older release to its operator', async () => {
    const { value } = await runStep(readOsConfigs, {
      host: ordering(),
      ...given('4.20.1'),
    });
    expect(value).toMatchObject({
      kind: 'submit',
      pools: [{ pool: 'master' }, { pool: 'worker' }],
    });
  });

  it.each([
    ['no MachineOSConfig', host(), {}, /no manifest/],
    [
      'prebuilt images',
      host().withFile(
        `${folder}/openshift/os.yaml`,
        osConfigManifest('master').replace(
          'name: master\nspec',
          'name: master\n  annotations: {machineconfiguration.openshift.io/pre-built-image: x}\nspec',
        ),
      ),
      {},
      /image of master was built before/,
    ],
  ])('requests nothing with %s', async (...[, machine, layering, why]) => {
    const config = configOf('4.21.0', layering);
    const { value } = await runStep(readOsConfigs, {
      host: machine,
      config,
      facts: factsOf(config),
    });
    expect(value).toEqual({ kind: 'off', why: expect.stringMatching(why) as string });
  });

  it.each<[string, ReturnType<typeof host>, ConfigInput, string]>([
    ['nothing to build', host(), configOf('4.21.0', { mode: 'on' }), 'nothing-to-build'],
    ['an old release', ordering(), configOf('4.18.20', { mode: 'on' }), 'release-too-old'],
    [
      'images of the masters only in mode on',
      host()
        .withFile(`${folder}/openshift/push.yaml`, pushSecretManifest())
        .withFile(`${folder}/manifests/master.yaml`, osConfigManifest('master')),
      configOf('4.21.0', { mode: 'on' }),
      'pool-without-os-config',
    ],
    [
      'no install disk',
      ordering(),
      { ...configOf('4.21.0'), image: { existingRoot: 'quay.io/os' } },
      'needs-disk',
    ],
    [
      'an invalid MachineOSConfig',
      ordering(osConfigManifest('master', 'bootstrap/x:t')),
      configOf('4.21.0'),
      'os-config-invalid',
    ],
    [
      'an unknown field in the spec',
      ordering(osConfigManifest('master').replace('containerFile', 'containerFiles')),
      configOf('4.21.0'),
      'os-config-invalid',
    ],
  ])('refuses %s', async (...[, machine, config, code]) => {
    const { failure } = await tryStep(readOsConfigs, {
      host: machine,
      config,
      facts: factsOf(config),
    });
    expect(failure).toMatchObject({ code: `layering.${code}` });
  });

  it.each<[string, ConfigInput]>([
    ['in mode off', configOf('4.21.0', { mode: 'off' })],
    ['for a release without layering', configOf('4.17.0')],
  ])('is skipped %s', async (...[, config]) => {
    const { events } = await runStep(readOsConfigs, {
      host: ordering('\tno'),
      config,
      facts: factsOf(config),
    });
    expect(events).toContainEqual(expect.objectContaining({ type: 'step.skipped' }));
  });

  it('uses the release of bootstrap.ign by default', async () => {
    const facts = { bootstrap: { path: '/b.ign', sha256: '', openshiftVersion: '4.20.1' } };
    const { value } = await runStep(readOsConfigs, { host: ordering(), facts });
    expect(value).toMatchObject({
      kind: 'submit',
      pools: [{ pool: 'master' }, { pool: 'worker' }],
    });
  });

  it('requires the release when there is a MachineOSConfig', async () => {
    const facts = { bootstrap: { path: '/b.ign', sha256: '' } };
    const { failure } = await tryStep(readOsConfigs, { host: ordering(), facts });
    expect(failure).toMatchObject({ code: 'config.incomplete' });
    expect((await runStep(readOsConfigs, { host: host(), facts })).value).toMatchObject({
      kind: 'off',
    });
  });
});

describe('layering/stash-os-configs', () => {
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

  it('moves only the requested objects out of the manifests', async () => {
    const machine = host();
    await runStep(setAsideOsConfigs, { host: machine, config, facts });
    expect(machine.textOf(asidePath('worker'))).toBe(osConfigManifest('worker'));
    expect(machine.textOf(asidePath('master'))?.trimStart()).toBe(osConfigManifest('master'));
    expect(machine.files.has(alone)).toBe(false);
    expect(machine.textOf(shared)).toBe(pushSecretManifest());
    expect(machine.textOf(asideSecret('push'))).toBe(pushSecretManifest());
    expect(machine.textOf(other)).toContain('name: infra');
  });

  it('continues after a crash between copy and removal', async () => {
    const machine = host().withFile(asidePath('worker'), 'an older text');
    await machine.remove(shared, new AbortController().signal);
    machine
      .withFile(asidePath('master'), osConfigManifest('master'))
      .withFile(asideSecret('push'), pushSecretManifest());
    await runStep(setAsideOsConfigs, { host: machine, config, facts });
    expect(machine.textOf(asidePath('worker'))).toBe(osConfigManifest('worker'));
    expect(machine.textOf(asidePath('master'))).toBe(osConfigManifest('master'));
  });

  it.each([alone, shared])('fails when the objects of %s are in neither place', async (path) => {
    const machine = host();
    await machine.remove(path, new AbortController().signal);
    const { failure } = await tryStep(setAsideOsConfigs, { host: machine, config, facts });
    expect(failure).toMatchObject({ code: 'layering.not-stashed' });
  });
});

describe('layering/check-single-node', () => {
  const configOf = (openshiftVersion: string, mode: 'auto' | 'on' = 'auto'): ConfigInput => ({
    cluster: { openshiftVersion },
    layering: { mode },
  });
  const factsOf = ({ cluster }: ConfigInput) => ({
    bootstrap: { path: '/b.ign', sha256: '', openshiftVersion: cluster?.openshiftVersion },
  });
  const ordering = (text = osConfigManifest('master')) =>
    fakeHost().withFile('/opt/openshift/manifests/master.yaml', text);
  const built = osConfigManifest('master').replace(
    'name: master\nspec',
    'name: master\n  annotations: {machineconfiguration.openshift.io/pre-built-image: x}\nspec',
  );

  it.each([
    ['no MachineOSConfig', fakeHost(), configOf('4.21.0')],
    ['a MachineOSConfig with a prebuilt image', ordering(built), configOf('4.21.0')],
    ['a release whose cluster builds the image', ordering(), configOf('4.20.0')],
  ])('accepts %s', async (...[, host, config]) => {
    const { events } = await runStep(checkSingleNode, { host, config, facts: factsOf(config) });
    expect(events).toContainEqual(expect.objectContaining({ type: 'step.finished' }));
  });

  it.each([
    ['a MachineOSConfig without an image', ordering(), configOf('4.21.0')],
    ['mode on', fakeHost(), configOf('4.21.0', 'on')],
    ['mode on for an older release', ordering(), configOf('4.20.0', 'on')],
  ])('refuses %s', async (...[, host, config]) => {
    const { failure } = await tryStep(checkSingleNode, { host, config, facts: factsOf(config) });
    expect(failure).toMatchObject({ code: 'layering.single-node', kind: 'unsupported' });
  });

  it('requires the release when there is a MachineOSConfig', async () => {
    const facts = { bootstrap: { path: '/b.ign', sha256: '' } };
    const { failure } = await tryStep(checkSingleNode, { host: ordering(), facts });
    expect(failure).toMatchObject({
      code: 'config.incomplete',
      context: { settings: 'cluster.openshiftVersion' },
    });
    await runStep(checkSingleNode, { host: fakeHost(), facts });
  });
});
