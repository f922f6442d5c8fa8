import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import {
  openSingleHost,
  singleIds,
  type SingleHost,
  type SingleHostPlan,
} from '../../mocks/lab/single-host.ts';
import { bundlePath, ensureBundle } from '../../scripts/bundle.ts';
import { aptPackages } from '../../scripts/parts/apt-packages.ts';
import { butane } from '../../scripts/parts/butane/butane.ts';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import { createTestFolder } from '../guest/rig/test-folder.ts';
import { createLiveIso, liveInitramfs } from '../support/live-media.ts';
import { followGuide, guidesFolder } from './follow-guide.ts';
import { blocksOf } from './guide.ts';

/** As openshift-install writes it: the rest is served by the cluster. */
const pointerIgnition = JSON.stringify({
  ignition: {
    version: '3.2.0',
    config: { merge: [{ source: 'https://192.0.2.10:22623/config/master' }] },
    security: { tls: { certificateAuthorities: [{ source: 'data:,not-looked-at' }] } },
  },
});

const open = (plan: Partial<SingleHostPlan> = {}): Promise<SingleHost> =>
  openSingleHost({
    ...{ role: 'master', isControlPlaneDone: true, token: 'token-of-the-guides' },
    ...{ write: { seconds: 0.5 } },
    ...plan,
  });

/** What a reader knows of the service and the host. */
const known = ({ environment, inventory }: SingleHost): Readonly<Record<string, string>> => ({
  ...environment,
  SERVICE: inventory.url,
  CLUSTER_ID: singleIds.cluster,
  INFRA_ENV_ID: singleIds.infraEnv,
  HOST_ID: singleIds.host,
});

beforeAll(() => ensureBundle(() => undefined));

it('first-installation.md', async () => {
  await using host = await open();
  const place = join(host.folder, 'root/etc/bootwright');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'master.ign'), pointerIgnition);
  await followGuide('first-installation.md', host.environment);
  expect(host.inventory.requests).toEqual([]);
});

/** What openshift-install writes, as far as the guide reads it: an authority that is valid for a day. */
function bootstrapIgnition(folder: string): string {
  const file = join(folder, 'signer.pem');
  const days = ['-days', '1', '-subj', '/CN=kubelet-signer'];
  const keys = ['-newkey', 'rsa:2048', '-nodes', '-keyout', '/dev/null', '-out', file];
  execFileSync('openssl', ['req', '-x509', ...days, ...keys], { stdio: 'ignore' });
  const source = `data:text/plain;charset=utf-8;base64,${readFileSync(file).toString('base64')}`;
  const path = '/opt/openshift/tls/kubelet-signer.crt';
  const version = '3.2.0';
  return JSON.stringify({
    ignition: { version },
    storage: { files: [{ path, contents: { source } }] },
  });
}

it('prepare-a-site.md', async () => {
  await using host = await open();
  // The name server of the site.
  const resolver = join(host.folder, 'resolver');
  mkdirSync(resolver);
  writeFileSync(join(resolver, 'getent'), '#!/bin/sh\necho "192.0.2.10  STREAM $2"\n', {
    mode: 0o755,
  });
  const programs = [resolver, join(partFolder(butane), 'bin'), host.environment['PATH'] ?? ''];
  await followGuide(
    'prepare-a-site.md',
    { ...host.environment, PATH: programs.join(':') },
    {
      'master.ign': pointerIgnition,
      'bootstrap.ign': bootstrapIgnition(host.folder),
      'agent.ign': JSON.stringify({ ignition: { version: '3.2.0' } }),
    },
  );
  const brought = join(host.folder, 'root/etc/bootwright/master.ign');
  expect(readFileSync(brought, 'utf8')).toBe(pointerIgnition);
});

it('static-network.md', async () => {
  await using host = await open();
  const place = join(host.folder, 'root/etc/bootwright');
  mkdirSync(join(place, 'network'), { recursive: true });
  writeFileSync(join(place, 'master.ign'), pointerIgnition);
  const guide = readFileSync(join(guidesFolder, 'static-network.md'), 'utf8');
  for (const { path, text } of blocksOf(guide).filter((one) =>
    /^n(?:etwork\/|mstate)/.test(one.path),
  ))
    writeFileSync(join(place, path), text, { mode: 0o600 });
  await followGuide('static-network.md', host.environment);
});

it('one-medium.md', async () => {
  await ensureParts([aptPackages, coreosInstaller]);
  using folder = createTestFolder('guide-media');
  const iso = join(folder.path, 'live.iso');
  await createLiveIso(iso);
  const PATH = `${join(partFolder(coreosInstaller), 'bin')}:${process.env['PATH'] ?? ''}`;
  const files = {
    'worker.ign': pointerIgnition,
    'rhcos-live.iso': readFileSync(iso),
    'pxe/rhcos-live-initramfs.x86_64.img': liveInitramfs(),
  };
  await followGuide('one-medium.md', { PATH }, files);
}, 1_800_000);

it('keep-data.md', async () => {
  await using host = await open({ disks: [{ name: 'sda', leftovers: 'data' }] });
  const place = join(host.folder, 'root/etc/bootwright');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'master.ign'), pointerIgnition);
  await followGuide('keep-data.md', host.environment);
});

it('wipe.md', async () => {
  await using host = await open({ disks: [{ name: 'sda', leftovers: 'lvm' }] });
  await followGuide('wipe.md', host.environment);
});

it('behind-assisted-service.md', async () => {
  await using host = await open();
  await followGuide('behind-assisted-service.md', known(host));
});

it('from-the-other-agent.md', async () => {
  await using host = await open();
  await followGuide('from-the-other-agent.md', known(host));
});

it('air-gapped.md', async () => {
  await using host = await open();
  await followGuide('air-gapped.md', host.environment);
});

it.each(['cluster-api-metal3.md', 'cluster-api-other-infrastructure.md'])('%s', (name) =>
  followGuide(name, {}),
);

it('when-it-hangs.md', async () => {
  await using host = await open({ role: 'worker', isControlPlaneDone: false });
  const { environment, folder, words, inventory } = host;
  const logFile = join(folder, 'agent.log');
  const agent = startAgent({ bundle: bundlePath, args: words, env: environment, logFile });
  const isWaiting = (): boolean =>
    inventory.requests.some(({ body }) => body.includes('0 of 2 masters'));
  try {
    await expect.poll(isWaiting, { timeout: 30_000 }).toBe(true);
    await followGuide('when-it-hangs.md', environment);
  } finally {
    agent.stop();
    await agent.ended;
  }
});
