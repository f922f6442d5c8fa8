import { describe, expect, it } from 'vitest';
import { buildIn, handOverTo, key, siteCluster } from '../../../test/layering/hand-over-run.ts';
import {
  buildNamed,
  operator,
  rendered,
  renderedConfig,
  renderedPool,
} from '../../../test/layering/hand-over-site.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { configMaps, machineConfigPools, machineConfigs } from '../../kube/kinds.ts';
import { poolFile } from '../../layering/manifests/bootstrap-files.ts';
import { handOverServed } from './hand-over.ts';

describe('the name of the build', () => {
  it('is made from the images of the ConfigMap up to 4.21', async () => {
    const old = renderedConfig();
    const annotations = { [key('release-image-version')]: '4.21.3' };
    const kube = siteCluster([
      machineConfigs,
      { ...old, metadata: { ...old.metadata, annotations } },
    ]);
    const missing = await tryStep(handOverServed, handOverTo(kube));
    expect(missing.failure).toMatchObject({ code: 'layering.images-unknown' });
    kube.put(configMaps, {
      metadata: { name: 'machine-config-osimageurl', namespace: operator },
      data: { baseOSContainerImage: 'r.example.com/base@sha256:0', releaseVersion: '4.21.3' },
    });
    await runStep(handOverServed, handOverTo(kube));
    expect(buildIn(kube)?.metadata.name).toMatch(/^master-[0-9a-f]{32}$/);
    expect(buildIn(kube)?.metadata.name).not.toBe(buildNamed);
  });
});

describe('the tag of a pool that is not rendered yet', () => {
  /** The pool as the bootstrap host writes it: with the MachineConfigs of all pools, in no order. */
  const poolOfAll = (...more: readonly string[]): string => {
    const { configuration } = renderedPool()['spec'] as {
      readonly configuration: { readonly name: string; readonly source: readonly object[] };
    };
    const others = ['99-worker-ssh', '00-worker', ...more];
    const [first] = configuration.source;
    const source = [...configuration.source, ...others.map((name) => ({ ...first, name }))];
    const spec = { configuration: { ...configuration, source: source.toReversed() } };
    return JSON.stringify({ ...renderedPool(), kind: 'MachineConfigPool', spec });
  };

  async function tagsOf(pool: string): Promise<readonly (string | undefined)[][]> {
    const kube = siteCluster();
    kube.put(machineConfigPools, renderedPool(''));
    const run = { ...handOverTo(kube), clock: fakeClock({ auto: false }) };
    run.host
      .withFile(poolFile('master'), pool)
      .withFile(`/machine-configs/${rendered}.yaml`, JSON.stringify(renderedConfig()));
    const tags = (): (string | undefined)[] =>
      run.host.ran
        .filter(([, verb]) => verb === 'copy')
        .map((argv) => argv.at(-1)?.split(':').at(-1));
    const done = runStep(handOverServed, run);
    await settle();
    const before = tags();
    kube.put(machineConfigPools, renderedPool());
    await done;
    return [before, tags()];
  }

  it('is that of the build, and is given once', async () => {
    expect(await tagsOf(poolOfAll())).toEqual([[buildNamed], [buildNamed]]);
  });

  it('is followed by the right one where it was a guess', async () => {
    const [before = [], after = []] = await tagsOf(poolOfAll('50-master-of-another-selector'));
    expect(before).toHaveLength(1);
    expect(after).toEqual([...before, buildNamed]);
    expect(before).not.toContain(buildNamed);
  });

  it('waits for the pool where nothing can be told', async () => {
    expect(await tagsOf('')).toEqual([[], [buildNamed]]);
  });
});
