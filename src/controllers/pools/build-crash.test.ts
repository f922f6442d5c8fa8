import { describe, expect, it } from 'vitest';
import {
  buildsOf,
  cluster,
  type Cluster,
  digestOf,
  dropPods,
  endJob,
  osConfigOf,
  repository,
  targetOf,
} from '../../../test/layering/build-site.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { jobs, machineOSConfigs, secrets } from '../../cluster/kinds.ts';
import { buildKeys } from '../../layering/api/os-build.ts';
import type { Kube } from '../../ports/kube.ts';

/** One controller after the other, each of which dies at its first write, before or behind it. */
describe('a controller that is killed at every write', () => {
  const verbs = ['create', 'patch', 'remove'] as const;
  const dyingAt = (kube: FakeKube, crash: AbortController, when: 'before' | 'behind'): Kube => ({
    ...kube,
    ...Object.fromEntries(
      verbs.map((verb) => [
        verb,
        async (...args: never[]) => {
          if (crash.signal.aborted) throw new Error('dead');
          const written = kube.writes.length;
          const call = kube[verb] as (...all: never[]) => Promise<unknown>;
          const answer = when === 'behind' ? await call(...args) : undefined;
          // What removes nothing is no write.
          if (when === 'behind' && kube.writes.length === written) return answer;
          crash.abort(new Error('crash'));
          throw new Error('crash');
        },
      ]),
    ),
  });

  /** Until a controller has nothing to write. */
  async function liveShortly({ kube, advance, start }: Cluster): Promise<number> {
    for (let died = 0; ; died += 1) {
      if (died > 60) throw new Error('it does not come to an end');
      const crash = new AbortController();
      const end = start(dyingAt(kube, crash, 'behind'), crash);
      await advance(2);
      const isDead = crash.signal.aborted;
      await end();
      if (!isDead) return died;
    }
  }

  it('comes to one build, one Job and one image', async () => {
    const site = cluster();
    const { kube } = site;
    const early = new AbortController();
    const end = site.start(dyingAt(kube, early, 'before'), early);
    await site.advance(2);
    await end();
    expect(kube.writes).toEqual([]);
    expect(await liveShortly(site)).toBeGreaterThanOrEqual(5);
    endJob(kube, 'active');
    expect(await liveShortly(site)).toBe(1);
    endJob(kube, { digest: digestOf('a') });
    expect(await liveShortly(site)).toBeGreaterThanOrEqual(4);
    const made = kube.writes.filter(({ verb }) => verb === 'create').map(({ kind }) => kind);
    expect(made.filter((kind) => kind !== 'events')).toEqual([
      'machineosbuilds',
      'secrets',
      'jobs',
    ]);
    expect(targetOf(kube)).toMatchObject({ target: { image: `${repository}@${digestOf('a')}` } });
    expect([kube.objectsOf(jobs), kube.objectsOf(secrets)]).toEqual([[], []]);
    const osConfig = osConfigOf(kube);
    const annotations = { ...osConfig.metadata.annotations, [buildKeys.rebuild]: '' };
    kube.put(machineOSConfigs, { ...osConfig, metadata: { ...osConfig.metadata, annotations } });
    dropPods(kube);
    expect(await liveShortly(site), 'built once more').toBeGreaterThanOrEqual(5);
    endJob(kube, { digest: digestOf('b') });
    await liveShortly(site);
    expect(targetOf(kube)).toMatchObject({ target: { image: `${repository}@${digestOf('b')}` } });
    expect(buildsOf(kube)).toEqual([['0', 'Succeeded']]);
  });
});
