import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
import { followGuide, guidesFolder, shownOn } from './follow-guide.ts';
import { blocksOf } from './guide.ts';

const top = join(import.meta.dirname, '../..');
const butanePath = join(partFolder(butane), 'bin');
const standIn = join(import.meta.dirname, '../capi/openshift-install.ts');

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
    role: 'master',
    isControlPlaneDone: true,
    token: 'token-of-the-guides',
    write: { seconds: 0.5 },
    ...plan,
  });

/** The variables that a reader knows of the service and the host. */
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

/** The entry of `bootstrap.ign` for a CA that is valid for a day. */
function signerOf(folder: string): string {
  const file = join(folder, 'signer.pem');
  const days = ['-days', '1', '-subj', '/CN=kubelet-signer'];
  const keys = ['-newkey', 'rsa:2048', '-nodes', '-keyout', '/dev/null', '-out', file];
  execFileSync('openssl', ['req', '-x509', ...days, ...keys], { stdio: 'ignore' });
  const source = `data:text/plain;charset=utf-8;base64,${readFileSync(file).toString('base64')}`;
  const path = '/opt/openshift/tls/kubelet-signer.crt';
  return JSON.stringify({ path, contents: { source } });
}

/**
 * Accepts only the commands of the guide; manifests and Ignition are made by the rules of the real
 * one.
 */
const openshiftInstall = `#!/bin/sh -e
case "$*" in
'create manifests --dir site') ${process.execPath} ${standIn} "$@" ;;
'create ignition-configs --dir site')
  ${process.execPath} ${standIn} "$@"
  jq --slurpfile signer signer.json '.storage.files += $signer' site/bootstrap.ign > with-signer.ign
  mv with-signer.ign site/bootstrap.ign ;;
'agent create image --dir site') cp live.iso site/agent.x86_64.iso ;;
*) echo "unexpected: openshift-install $*"; exit 1 ;;
esac
`;

it('prepare-a-site.md', async () => {
  await using host = await open();
  const iso = join(host.folder, 'live.iso');
  await createLiveIso(iso);
  const ignition = join(host.folder, 'agent.ign');
  writeFileSync(ignition, JSON.stringify({ ignition: { version: '3.2.0' } }));
  const installer = join(partFolder(coreosInstaller), 'bin');
  const embed = ['iso', 'ignition', 'embed', '--ignition-file', ignition, iso];
  execFileSync(join(installer, 'coreos-installer'), embed);
  // The name server of the site, and its installer.
  const resolver = join(host.folder, 'resolver');
  mkdirSync(resolver);
  const getent = '#!/bin/sh\necho "192.0.2.10  STREAM $2"\n';
  for (const [name, script] of Object.entries({ getent, 'openshift-install': openshiftInstall }))
    writeFileSync(join(resolver, name), script, { mode: 0o755 });
  const own = host.environment.PATH;
  await followGuide(
    'prepare-a-site.md',
    {
      ...host.environment,
      PATH: [resolver, butanePath, installer, own].join(':'),
      GUEST_KUBECONFIG: '/dev/null',
    },
    {
      files: {
        'master.ign': pointerIgnition,
        'signer.json': signerOf(host.folder),
        'live.iso': readFileSync(iso),
      },
    },
  );
  const brought = join(host.folder, 'root/etc/bootwright/master.ign');
  expect(readFileSync(brought, 'utf8')).toBe(pointerIgnition);
});

it('static-network.md', async () => {
  await using host = await open();
  const place = join(host.folder, 'root/etc/bootwright');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'master.ign'), pointerIgnition);
  const guide = readFileSync(join(guidesFolder, 'static-network.md'), 'utf8');
  const nmstate = blocksOf(guide).find(({ path }) => path === 'nmstate.yaml');
  writeFileSync(join(place, 'nmstate.yaml'), nmstate?.text ?? '', { mode: 0o600 });
  const target = '--target-directory=/etc/bootwright/network';
  const instead = { [target]: `--target-directory=${place}/network` };
  await followGuide('static-network.md', host.environment, { instead });
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
  await followGuide('one-medium.md', { PATH }, { files });
}, 1_800_000);

it('keep-data.md', async () => {
  await using host = await open({ disks: [{ name: 'sda', leftovers: 'data' }] });
  const place = join(host.folder, 'root/etc/bootwright');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'master.ign'), pointerIgnition);
  const PATH = `${butanePath}:${host.environment.PATH}`;
  await followGuide('keep-data.md', { ...host.environment, PATH });
});

it('wipe.md', async () => {
  await using host = await open({ disks: [{ name: 'sda', leftovers: 'lvm' }] });
  await followGuide('wipe.md', host.environment);
});

it('behind-assisted-service.md', async () => {
  await using host = await open();
  await followGuide('behind-assisted-service.md', known(host));
});

it('coming-from-assisted-installer.md', async () => {
  await using host = await open();
  await followGuide('coming-from-assisted-installer.md', known(host));
});

it('air-gapped.md', async () => {
  await using host = await open();
  await followGuide('air-gapped.md', host.environment);
});

it('cluster-api-on-one-machine.md names the Debian packages of scripts/prepare.sh', () => {
  const shown = shownOn('docs/guides/cluster-api-on-one-machine.md', 'apt-get install');
  expect(readFileSync(join(top, 'scripts/prepare.sh'), 'utf8')).toContain(shown);
  // Prints the packages that a machine without them would download; nothing is installed.
  using archives = mkdtempDisposableSync(join(tmpdir(), 'bootwright-archives-'));
  mkdirSync(join(archives.path, 'partial'));
  const elsewhere = `--option Dir::State::status=/dev/null --option Dir::Cache::archives=${archives.path}`;
  const options = `--print-uris --no-install-recommends ${elsewhere}`;
  const command = shown.replace('install', `install ${options}`);
  const script = `${command} || { apt-get update && ${command}; }`;
  const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8' });
  for (const name of shown.split(' ').slice(2))
    expect(printed).toMatch(new RegExp(`^'\\S+/${name}_\\S+\\.deb' `, 'm'));
});

it('cluster-api-other-infrastructure.md', () =>
  followGuide('cluster-api-other-infrastructure.md', {}));

it('when-it-hangs.md', async () => {
  await using host = await open({ role: 'worker', isControlPlaneDone: false });
  const { environment, folder, words, inventory } = host;
  const logFile = join(folder, 'agent.log');
  const agent = startAgent({ bundle: bundlePath, args: words, env: environment, logFile });
  const isWaiting = (): boolean =>
    inventory.requests.some(({ body }) => body.includes('0 of 2 masters'));
  try {
    await expect.poll(isWaiting).toBe(true);
    await followGuide('when-it-hangs.md', environment);
  } finally {
    agent.stop();
    await agent.ended;
  }
});
