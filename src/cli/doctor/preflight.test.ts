import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { keptPartition } from '../../../test/support/disk-samples.ts';
import { any, fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import type { Web } from '../../ports/web.ts';
import { Config } from '../../config/schema.ts';
import { seconds } from '../../model/duration.ts';
import { master } from '../../roles/master.ts';
import { TargetDisk } from '../../steps/disk/facts.ts';
import { chooseImage } from '../../steps/image/choose.ts';
import { explainImage } from '../../steps/image/source.ts';
import { step } from '../../steps/step.ts';
import { withRefusals } from '../config.ts';
import { checkPreflight } from './preflight.ts';

const findDisk = (kept?: TargetDisk['kept']) =>
  step({
    id: 'disk/resolve',
    title: 'Find the disk',
    effect: 'reads',
    limit: seconds(5),
    uses: [],
    gives: TargetDisk,
    run: () =>
      Promise.resolve({
        path: '/dev/sda',
        asked: '/dev/sda',
        name: 'sda',
        majorMinor: '8:0',
        type: 'disk',
        sizeBytes: 120e9,
        sectorBytes: 512,
        serial: '',
        wwn: '',
        byId: [],
        ...(kept !== undefined && { kept }),
      }),
  });

const plain = 'http://mirror.example/metal.raw';
const secure = 'https://mirror.example/metal.raw';
const service = { url: 'http://svc.example' };
const args = (url: string) => ({ writerArgs: ['--image-url', url] });

/** Runs the checks of a master with these steps. */
const checked = (
  config: Config,
  { steps, ...ports }: { steps: typeof master.steps; host: FakeHost; web?: Web },
) =>
  checkPreflight({
    role: { ...master, steps },
    config,
    ports: { clock: fakeClock(), ...ports } as never,
    signal: new AbortController().signal,
    hide: () => undefined,
  });

/** Runs the image checks of doctor on a fake host. */
async function doctor(config: Config) {
  const image = Buffer.alloc(4096);
  const host = fakeHost()
    .on(['uname', any])
    .prints('x86_64')
    .on(['skopeo', rest])
    .fails(1, 'no route');
  const web = fakeWeb().with(plain, image).with(secure, image);
  const found = await checked(config, { steps: [findDisk(), chooseImage], host, web });
  return found.find(({ check }) => check === 'image/choose');
}

describe('an unverified image', () => {
  it.each([
    ['by http, without a service', { image: { url: plain } }, 'failed'],
    ['by http, allowed', { image: { url: plain, allowUnverified: true } }, 'warning'],
    ['by http, with a service', { image: { url: plain }, service }, 'warning'],
    ['in writerArgs', { image: args(plain) }, 'failed'],
    ['in writerArgs, with a service', { image: args(plain), service }, 'warning'],
    ['by https', { image: { url: secure } }, 'ok'],
    ['by https in writerArgs', { image: args(secure) }, 'ok'],
    ['with a digest', { image: { url: plain, sha256: 'a'.repeat(64) } }, 'ok'],
  ])('is reported alike by doctor, plan and validate: %s', async (...[, input, state]) => {
    const config = Config.parse({ role: 'master', ...input });
    const finding = await doctor(config);
    expect(finding).toMatchObject({ state });
    const refusals = withRefusals([], config).map(({ code }) => code);
    expect(refusals.includes('image.unverified')).toBe(state === 'failed');
    expect(finding?.code === 'image.unverified').toBe(state === 'failed');
    expect(explainImage(config).includes('nothing verifies')).toBe(state !== 'ok');
    if (state === 'warning') expect(finding?.hint).toContain('image.sha256');
  });

  it('is reported by doctor together with another warning', async () => {
    const image = { url: plain, nodeImage: 'registry.example/os:4.20.1' };
    const finding = await doctor(Config.parse({ role: 'master', image, service }));
    expect(finding).toMatchObject({ state: 'warning' });
    expect(finding?.says).toMatch(/plain http.*; .*node image/);
  });
});

const ignition = (wipeTable: boolean): string =>
  JSON.stringify({
    ignition: { version: '3.2.0' },
    storage: { disks: [{ device: '/dev/sda', wipeTable }] },
  });
const keep = ['--save-partlabel', 'data'];
const own = [...keep, '--ignition-file', '/own.ign'];
const lost = { state: 'failed', code: 'disk.keep-wiped' };
const unknown = { state: 'warning', hint: 'see what is found of Ignition' };

it.each([
  ['that wipes them', keep, { '/host.ign': ignition(true) }, lost],
  ['that keeps them', keep, { '/host.ign': ignition(false) }, { state: 'ok' }],
  ['that does not exist', keep, {}, unknown],
  [
    'that another one overrides and wipes them',
    own,
    { '/host.ign': ignition(false), '/own.ign': ignition(true) },
    lost,
  ],
  [
    'that another one overrides and keeps them',
    own,
    { '/own.ign': ignition(false) },
    { state: 'ok' },
  ],
  ['of a host that keeps none', [], { '/host.ign': ignition(true) }, undefined],
])(
  'the Ignition config of a host that keeps partitions is checked as by an install: %s',
  async (...[, writerArgs, files, found]) => {
    const host = fakeHost();
    for (const [path, text] of Object.entries(files)) host.withFile(path, text);
    const config = Config.parse({ image: { writerArgs }, ignition: { file: '/host.ign' } });
    const steps = [findDisk([keptPartition(5, 'data', 25_000)])];
    const findings = await checked(config, { steps, host });
    const finding = findings.find(({ check }) => check === 'image/check-inputs');
    if (found === undefined) expect(finding).toBeUndefined();
    else expect(finding).toMatchObject(found);
  },
);
