import { describe, expect, it } from 'vitest';
import { searchingHost, searchRun } from '../../../test/layering/worker-search.ts';
import { servedToWorker, workerCase } from '../../../test/layering/worker.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { fakeWeb, type FakeWeb } from '../../../test/support/fake-web.ts';
import { tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { findWorkerImage } from './find-worker-image.ts';

const { image, repository, url } = workerCase;

const config: ConfigInput = { role: 'worker', image: { skipMcoReboot: true } };

const find = (web: FakeWeb, host = searchingHost(), more: ConfigInput = {}) =>
  tryStep(findWorkerImage, {
    config: { ...config, ...more },
    host,
    web,
    ...searchRun(),
  });

const served = (text: string): FakeWeb => fakeWeb().with(url, text);

describe('layering/find-worker-image, where nobody has said where images lie', () => {
  it('looks where the served config tells', async () => {
    const { value } = await find(served(servedToWorker(undefined, { repository })));
    expect(value).toMatchObject({ kind: 'overlay', image });
  });

  it.each([
    ['tells nothing', servedToWorker()],
    ['is of a cluster without layering', '{"ignition":{"version":"3.2.0"}}'],
  ])('leaves a host alone whose config %s', async (_, text) => {
    const host = searchingHost();
    const { value, notes } = await find(served(text), host);
    expect(value).toEqual({
      kind: 'release',
      why: 'the served config names no image repository',
    });
    expect([host.ran, notes]).toEqual([[], []]);
  });

  it('warns, and installs the system of the release, when nothing is served', async () => {
    const { value, notes } = await find(fakeWeb());
    expect(value).toMatchObject({ kind: 'release' });
    expect(notes).toEqual([
      'warn: the served config cannot be read, so the image of the pool is unknown; the OS image of the release is installed',
    ]);
  });

  it('warns, and leaves the node to its cluster, when there is no image of this MachineConfig', async () => {
    const host = searchingHost();
    host.on(['skopeo', 'inspect', '--no-tags', rest]).fails(1, 'manifest unknown');
    const { value, notes } = await find(served(servedToWorker(undefined, { repository })), host);
    expect(value).toMatchObject({ kind: 'release' });
    expect(notes).toContain(
      'warn: the pool has no image for the served MachineConfig; the OS image of the release is installed',
    );
  });

  it.each([
    ['layering.repository-unusable', servedToWorker(undefined, { repository: 'no repository' })],
    [
      'layering.served-torn',
      servedToWorker(image, { osImage: workerCase.releaseImage, repository }),
    ],
  ])('fails with %s, as its cluster is layered', async (code, text) => {
    expect((await find(served(text))).failure).toMatchObject({ code });
    const fallback = { layering: { failurePolicy: 'fallback-stock' as const } };
    const { value } = await find(served(text), searchingHost(), fallback);
    expect(value).toMatchObject({ kind: 'release' });
  });

  it.each<[string, ConfigInput]>([
    ['the first boot completes the system', { image: { skipMcoReboot: false } }],
    ['layering is off', { layering: { mode: 'off' } }],
    ['the host is a master', { role: 'master' }],
  ])('is not for a host where %s', async (_, more) => {
    const { events } = await find(fakeWeb(), searchingHost(), more);
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });
});
