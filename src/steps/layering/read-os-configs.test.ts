import { describe, expect, it } from 'vitest';
import { osConfigManifest, pushSecretManifest } from '../../../test/layering/manifests.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { readOsConfigs } from './os-configs.ts';

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

describe('layering/read-os-configs', () => {
  it('orders what the manifests ask for, masters first', async () => {
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
      'images that were built before',
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
  ])('orders nothing with %s', async (...[, machine, layering, why]) => {
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
      'images of the masters alone, where each pool is to have one',
      host()
        .withFile(`${folder}/openshift/push.yaml`, pushSecretManifest())
        .withFile(`${folder}/manifests/master.yaml`, osConfigManifest('master')),
      configOf('4.21.0', { mode: 'on' }),
      'pool-without-os-config',
    ],
    [
      'no disk that is written',
      ordering(),
      { ...configOf('4.21.0'), image: { existingRoot: 'quay.io/os' } },
      'needs-disk',
    ],
    [
      'a MachineOSConfig that breaks a rule',
      ordering(osConfigManifest('master', 'bootstrap/x:t')),
      configOf('4.21.0'),
      'os-config-invalid',
    ],
    [
      'a spec that says what no cluster knows',
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
    ['where it is not wanted', configOf('4.21.0', { mode: 'off' })],
    ['of a release that knows none', configOf('4.17.0')],
  ])('does not look %s', async (...[, config]) => {
    const { events } = await runStep(readOsConfigs, {
      host: ordering('\tno'),
      config,
      facts: factsOf(config),
    });
    expect(events).toContainEqual(expect.objectContaining({ type: 'step.skipped' }));
  });

  it('goes by the release of bootstrap.ign where no other is given', async () => {
    const facts = { bootstrap: { path: '/b.ign', sha256: '', openshiftVersion: '4.20.1' } };
    const { value } = await runStep(readOsConfigs, { host: ordering(), facts });
    expect(value).toMatchObject({
      kind: 'submit',
      pools: [{ pool: 'master' }, { pool: 'worker' }],
    });
  });

  it('does not guess the release where a MachineOSConfig asks for it', async () => {
    const facts = { bootstrap: { path: '/b.ign', sha256: '' } };
    const { failure } = await tryStep(readOsConfigs, { host: ordering(), facts });
    expect(failure).toMatchObject({ code: 'config.incomplete' });
    expect((await runStep(readOsConfigs, { host: host(), facts })).value).toMatchObject({
      kind: 'off',
    });
  });
});
