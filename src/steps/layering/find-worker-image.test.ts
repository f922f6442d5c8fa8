import { describe, expect, it } from 'vitest';
import { searchingHost, searchRun } from '../../../test/layering/worker-search.ts';
import { servedToWorker, workerCase } from '../../../test/layering/worker.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeWeb, type FakeWeb } from '../../../test/support/fake-web.ts';
import { tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { minutes } from '../../model/duration.ts';
import { findWorkerImage, workerFiles } from './find-worker-image.ts';

describe('layering/find-worker-image', () => {
  const { digest, image, rendered, repository, url } = workerCase;

  interface Setting {
    readonly host?: FakeHost;
    readonly web?: FakeWeb;
    readonly layering?: ConfigInput['layering'];
  }

  const settings = ({
    host = searchingHost(),
    web = fakeWeb().with(url, servedToWorker()),
    layering = {},
  }: Setting) => ({
    config: { role: 'worker' as const, layering: { repository, ...layering } },
    host,
    web,
    ...searchRun(),
  });

  const find = (setting: Setting) => tryStep(findWorkerImage, settings(setting));

  const kept = { rendered, served: workerFiles.served, authFile: workerFiles.authFile };

  it('finds the image by the tag of the rendered MachineConfig', async () => {
    const host = searchingHost();
    const { value } = await find({ host });
    expect(value).toEqual({ kind: 'overlay', image, ...kept });
    const access = ['--authfile', workerFiles.authFile];
    const named = `docker://${repository}:${rendered}`;
    expect(host.ran).toContainEqual([
      ...['skopeo', 'inspect', '--no-tags', '--format', '{{.Digest}}', ...access, named],
    ]);
  });

  it('stores the pull secret and the config with mode 0600 and not in a command', async () => {
    const host = searchingHost();
    await find({ host });
    expect(host.textOf(workerFiles.authFile)).toBe(workerCase.secret);
    for (const path of [workerFiles.authFile, workerFiles.served]) {
      expect(host.files.get(path)?.mode, path).toBe(0o600);
    }
    expect(host.ran.flat().join(' ')).not.toContain('eDp5');
  });

  it('uses the certificates of the served config', async () => {
    const host = searchingHost();
    const web = fakeWeb().with(url, servedToWorker(undefined, { hasCertificate: true }));
    const { value } = await find({ host, web });
    expect(value).toMatchObject({ certificates: workerFiles.certificates });
    expect(host.textOf(`${workerFiles.certificates}/0.crt`)).toBe(workerCase.certificate);
    expect(host.ran.flat()).toContain('--cert-dir');
  });

  it('uses the image that the cluster serves without asking the registry', async () => {
    const other = `registry.example/ocl/worker@sha256:${'c'.repeat(64)}`;
    const host = searchingHost();
    const { value } = await find({ host, web: fakeWeb().with(url, servedToWorker(other)) });
    expect(value).toEqual({ kind: 'served', image: other, ...kept });
    expect(host.ran.filter(([program]) => program === 'skopeo')).toEqual([]);
  });

  it('uses the image of its repository that a MachineConfig names', async () => {
    const host = searchingHost();
    const pinned = servedToWorker(undefined, { osImage: image });
    const { value } = await find({ host, web: fakeWeb().with(url, pinned) });
    expect(value).toEqual({ kind: 'served', image, ...kept });
    expect(host.ran.filter(([program]) => program === 'skopeo')).toEqual([]);
  });

  it('refuses a cluster that names two images', async () => {
    const torn = servedToWorker(image, { osImage: workerCase.releaseImage });
    const { failure } = await find({ web: fakeWeb().with(url, torn) });
    expect(failure).toMatchObject({ code: 'layering.served-torn' });
  });

  it.each([
    ['does not exist yet', 'reading manifest rendered-worker: manifest unknown'],
    ['needs authorization', 'reading manifest rendered-worker: unauthorized'],
    ['is in an unreachable registry', 'dial tcp 192.0.2.1:443: connect: connection refused'],
  ])('waits for an image that %s', async (_, stderr) => {
    const host = searchingHost();
    let polls = 0;
    host.on(['skopeo', 'inspect', '--no-tags', rest]).answers(() => {
      polls += 1;
      return polls < 3 ? { exitCode: 1, stderr } : { stdout: digest };
    });
    const { value, events } = await find({ host });
    expect(value).toMatchObject({ kind: 'overlay', image });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'wait.updated',
        sentence: `${repository} has the image of ${rendered}`,
        status: expect.stringContaining(stderr) as string,
      }),
    );
  });

  it('fails at once on a certificate error', async () => {
    const host = searchingHost();
    host.on(['skopeo', 'inspect', '--no-tags', rest]).fails(1, 'x509: unknown authority');
    const { failure } = await find({ host });
    expect(failure).toMatchObject({ code: 'command.failed' });
  });

  it.each([
    ['fail', { failure: { code: 'wait.timed-out' } }],
    ['fallback-stock', { value: { kind: 'release' } }],
  ] as const)(
    'follows the failure policy %s when the image does not appear within half an hour',
    async (failurePolicy, expected) => {
      const host = searchingHost();
      host.on(['skopeo', 'inspect', '--no-tags', rest]).fails(1, 'manifest unknown');
      const run = settings({ host, layering: { failurePolicy } });
      expect(await tryStep(findWorkerImage, run)).toMatchObject(expected);
      expect(run.clock.now()).toBe(minutes(30));
    },
  );

  it('refuses an image for another architecture', async () => {
    const { failure } = await find({ host: searchingHost('arm64') });
    expect(failure).toMatchObject({ code: 'image.wrong-architecture' });
  });

  it.each(['registry.example/a/b/c', 'registry.example/ocl:tag', 'localhost:5000/ocl', 'ocl'])(
    'refuses the repository %s despite fallback-stock',
    async (name) => {
      const layering = { repository: name, failurePolicy: 'fallback-stock' } as const;
      const { failure } = await find({ layering });
      expect(failure).toMatchObject({ code: 'layering.repository-unusable' });
    },
  );
});

describe('layering/find-worker-image without a configured repository', () => {
  const { image, repository, url } = workerCase;

  const config: ConfigInput = { role: 'worker', image: { skipMcoReboot: true } };

  const find = (
    web: FakeWeb,
    host = searchingHost(),
    more: ConfigInput = {},
    { clock, facts } = searchRun(),
  ) => tryStep(findWorkerImage, { config: { ...config, ...more }, host, web, clock, facts });

  const served = (text: string): FakeWeb => fakeWeb().with(url, text);

  it('uses the repository of the served config', async () => {
    const { value } = await find(served(servedToWorker(undefined, { repository })));
    expect(value).toMatchObject({ kind: 'overlay', image });
  });

  it.each([
    ['names no repository', servedToWorker()],
    ['is of a cluster without layering', '{"ignition":{"version":"3.2.0"}}'],
  ])('runs nothing when the served config %s', async (_, text) => {
    const host = searchingHost();
    const { value, notes } = await find(served(text), host);
    expect(value).toEqual({
      kind: 'release',
      why: 'the served config names no image repository',
    });
    expect([host.ran, notes]).toEqual([[], []]);
  });

  it('warns and installs the release when no config is served', async () => {
    const { value, notes } = await find(fakeWeb());
    expect(value).toMatchObject({ kind: 'release' });
    expect(notes).toEqual([
      'warn: the served config cannot be read, so the image of the pool is unknown; the OS image of the release is installed',
    ]);
  });

  it('warns and installs the release when the MachineConfig has no image for five minutes', async () => {
    const host = searchingHost();
    host.on(['skopeo', 'inspect', '--no-tags', rest]).fails(1, 'manifest unknown');
    const web = served(servedToWorker(undefined, { repository }));
    const run = searchRun();
    const { value, notes } = await find(web, host, {}, run);
    expect(value).toMatchObject({ kind: 'release' });
    expect(run.clock.now()).toBe(minutes(5));
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
  ])('fails with %s unless the policy is fallback-stock', async (code, text) => {
    expect((await find(served(text))).failure).toMatchObject({ code });
    const fallback = { layering: { failurePolicy: 'fallback-stock' as const } };
    const { value } = await find(served(text), searchingHost(), fallback);
    expect(value).toMatchObject({ kind: 'release' });
  });

  it.each<[string, ConfigInput]>([
    ['the first boot completes the system', { image: { skipMcoReboot: false } }],
    ['layering is off', { layering: { mode: 'off' } }],
    ['the host is a master', { role: 'master' }],
  ])('is skipped when %s', async (_, more) => {
    const { events } = await find(fakeWeb(), searchingHost(), more);
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });
});
