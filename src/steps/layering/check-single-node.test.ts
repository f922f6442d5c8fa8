import { describe, expect, it } from 'vitest';
import { osConfigManifest } from '../../../test/layering/manifests.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { checkSingleNode } from './os-configs.ts';

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

describe('layering/check-single-node', () => {
  it.each([
    ['no MachineOSConfig', fakeHost(), configOf('4.21.0')],
    ['one that names its image', ordering(built), configOf('4.21.0')],
    ['a release that leaves it to the cluster', ordering(), configOf('4.20.0')],
  ])('lets %s pass', async (...[, host, config]) => {
    const { events } = await runStep(checkSingleNode, { host, config, facts: factsOf(config) });
    expect(events).toContainEqual(expect.objectContaining({ type: 'step.finished' }));
  });

  it.each([
    ['one that names no image', ordering(), configOf('4.21.0')],
    ['a build that is asked for', fakeHost(), configOf('4.21.0', 'on')],
    ['a build that is asked for of an older release', ordering(), configOf('4.20.0', 'on')],
  ])('refuses %s', async (...[, host, config]) => {
    const { failure } = await tryStep(checkSingleNode, { host, config, facts: factsOf(config) });
    expect(failure).toMatchObject({ code: 'layering.single-node', kind: 'unsupported' });
  });

  it('does not guess the release where a MachineOSConfig asks for it', async () => {
    const facts = { bootstrap: { path: '/b.ign', sha256: '' } };
    const { failure } = await tryStep(checkSingleNode, { host: ordering(), facts });
    expect(failure).toMatchObject({
      code: 'config.incomplete',
      context: { settings: 'cluster.openshiftVersion' },
    });
    await runStep(checkSingleNode, { host: fakeHost(), facts });
  });
});
