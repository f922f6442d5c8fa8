import { describe, expect, it } from 'vitest';
import { commandTimedOut } from '../../adapters/host/command-failures.ts';
import { minutes } from '../../model/duration.ts';
import {
  bootcNode,
  bootcSaid,
  recordedImages as images,
  switchTo,
  undeploy,
  withEntries,
} from '../../../test/support/bootc-node.ts';
import { runOnNode } from '../../../test/support/core-os-node.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import {
  imageOf,
  rhcosDeployment,
  rpmOstreeDeployment,
  rpmOstreeOutput,
  sum,
} from '../../../test/support/os-samples.ts';
import { applyImage, applyRollback } from './apply.ts';
import { readHost } from './read-host.ts';

const changes = (host: FakeHost): FakeHost['ran'] =>
  host.ran.filter(
    ([program = '', verb]) =>
      ['bootc', 'ostree'].includes(program) &&
      !['status', 'refs', '--version'].includes(verb ?? ''),
  );
const required = '/run/reboot-required';

/** Runs a command of a node; the lock ends with its process. */
async function run(...[role, host, order]: Parameters<typeof runOnNode>): Promise<void> {
  try {
    await runOnNode(role, host, order);
  } finally {
    (host as FakeHost & { readonly locks: Set<string> }).locks.clear();
  }
}

const inRegistry = (hex: string): string =>
  JSON.stringify({ Digest: `sha256:${hex}`, Architecture: 'amd64' });
const two = '9293fb32e37bf4c9201f29d8fa38191dbb94f4054ded35e190ba5ef99f3825a6';
const staging = {
  argv: switchTo(images.two),
  after: 'staged',
  required: bootcSaid('reboot-required.txt'),
};

describe('node apply on a host with bootc', () => {
  it('stages the image only once', async () => {
    const host = bootcNode('fresh', [staging]);
    host.on(['skopeo', rest]).prints(inRegistry(two));
    for (const _ of ['once', 'again']) await run(applyImage, host, { image: images.two });
    expect(changes(host)).toEqual([switchTo(images.two)]);
  });

  it('drops the deployment of a failed command and names the failed image', async () => {
    const failing = {
      argv: switchTo(images.bound),
      after: 'bound-failed',
      error: 'error-bound.txt',
    };
    const host = bootcNode('fresh', [failing, { argv: undeploy, after: 'fresh' }]);
    for (const _ of ['once', 'again'])
      await expect(run(applyImage, host, { image: images.bound })).rejects.toMatchObject({
        code: 'os.image-unreachable',
        message: expect.stringMatching(
          /^10\.0\.2\.2:5999\/lab\/bound:1, which is bound to \S+\/os:6: .*refused$/,
        ) as string,
        context: { image: '10.0.2.2:5999/lab/bound:1' },
      });
    const once = [switchTo(images.bound), undeploy];
    expect(changes(host)).toEqual([...once, ...once]);
  });

  it('restages a deployment that an earlier run left unfinished', async () => {
    const whole = { argv: switchTo(images.bound), after: 'bound-failed' };
    const host = bootcNode('bound-failed', [whole, { argv: undeploy, after: 'fresh' }]);
    const digest = '1205be01a34f39a22a7c646a02df9a7d9337e1b6acd775ab230b866c741a382a';
    host.on(['skopeo', rest]).prints(inRegistry(digest));
    await run(applyImage, host, { image: images.bound });
    expect(changes(host)).toEqual([undeploy, switchTo(images.bound)]);
  });

  it('keeps the staged deployment when a command fails', async () => {
    const failing = { argv: ['bootc', 'upgrade', '--quiet'], error: 'error-gone.txt' };
    const host = bootcNode('staged', [failing]);
    await expect(run(applyImage, host, { image: images.two })).rejects.toMatchObject({
      code: 'os.image-unreachable',
    });
    expect(changes(host)).toEqual([failing.argv]);
  });

  it('unlocks a downloaded deployment', async () => {
    const unlock = { argv: ['bootc', 'upgrade', '--quiet', '--from-downloaded'], after: 'staged' };
    const host = bootcNode('locked', [unlock]);
    host.on(['skopeo', rest]).prints(inRegistry(two));
    await run(applyImage, host, { image: images.two });
    expect(changes(host)).toEqual([unlock.argv]);
  });

  it.each([
    ['error-no-tag.txt', 'os.image-not-found'],
    ['error-unauthorized.txt', 'os.pull-denied'],
    ['error-architecture.txt', 'os.wrong-architecture'],
    ['error-full.txt', 'os.no-space'],
    ['error-policy.txt', 'command.failed'],
  ])('maps %s to %s', async (error, code) => {
    const host = bootcNode('fresh', [{ argv: switchTo(images.two), error }]);
    await expect(run(applyImage, host, { image: images.two })).rejects.toMatchObject({ code });
  });

  it('switches to the wanted name while a rollback is queued and fails when nothing is staged', async () => {
    const host = bootcNode('rollback-queued', [{ argv: switchTo(images.one) }]);
    host.on(['skopeo', rest]).prints(inRegistry(sum('3')));
    await expect(run(applyImage, host, { image: images.one })).rejects.toMatchObject({
      code: 'os.not-staged',
    });
    expect(changes(host)).toEqual([switchTo(images.one)]);
  });

  it('changes kernel arguments by source when the versions support it', async () => {
    const set = ['bootc', 'loader-entries', 'set-options-for-source', '--source', 'bootwright'];
    const argv = [...set, '--options', 'lab.src=2'];
    const host = bootcNode('fresh', [{ argv, after: 'staged-arguments' }]);
    withEntries(host, 'booted2')
      .on(['skopeo', rest])
      .prints(inRegistry('7197f28dd46c2904b71056cf950c3c383c79c8de5870f2b6f470cd2253fe1a15'))
      .on(['bootc', '--version'])
      .prints(bootcSaid('version.txt'))
      .on(['ostree', '--version'])
      .prints("libostree:\n Version: '2026.4'");
    const image = images.one;
    const foreign = { append: [], remove: ['rw'], everywhere: true };
    await expect(run(applyImage, host, { image, kernelArguments: foreign })).rejects.toMatchObject({
      code: 'os.kernel-arguments-unsupported',
      message: 'bootc removes none but its own, and not rw, and the host has no rpm-ostree',
    });
    const kernelArguments = { append: ['lab.src=2'], remove: ['lab.src=2'], everywhere: true };
    await run(applyImage, host, { image, kernelArguments });
    expect(changes(host)).toEqual([argv]);
    host.on(['bootc', '--version']).prints('bootc 1.15.1').on(['rpm-ostree', rest]).succeeds();
    host.on(['rpm-ostree', 'status', rest]).prints(rpmOstreeOutput([rhcosDeployment]));
    const signal = new AbortController().signal;
    expect(await readHost({ host, signal }, kernelArguments)).toMatchObject({
      driver: 'rpm-ostree',
      reason: expect.stringMatching(/^kernel arguments change: bootc .* 1\.15\.2/) as string,
    });
  });

  it('names the process that holds the sysroot', async () => {
    const host = bootcNode('fresh');
    host
      .on(['bootc', 'status', rest])
      .answers((argv) => {
        throw commandTimedOut({ argv, duration: minutes(2) }, minutes(2));
      })
      .on(['pgrep', rest])
      .prints('812 bootc upgrade --quiet');
    await expect(run(applyImage, host, { image: images.two })).rejects.toMatchObject({
      code: 'os.busy',
      message: 'process 812 bootc upgrade --quiet holds the sysroot',
    });
    host.on(['pgrep', rest]).fails(1);
    await expect(run(applyImage, host, { image: images.two })).rejects.toMatchObject({
      message: 'another bootc holds the sysroot',
    });
  });
});

describe('node rollback on a host with bootc', () => {
  it('drops the staged deployment and its /run/reboot-required', async () => {
    const host = bootcNode('staged', [{ argv: undeploy, after: 'fresh' }]);
    await run(applyRollback, host);
    expect(host.textOf(required)).toBeUndefined();
  });

  it('keeps a /run/reboot-required of another program', async () => {
    const host = bootcNode('staged', [{ argv: undeploy, after: 'fresh' }]);
    host.withFile(required, '*** System restart required ***');
    await run(applyRollback, host);
    expect(host.textOf(required)).toBe('*** System restart required ***');
  });

  it('queues the rollback and reboots', async () => {
    const host = bootcNode('booted', [{ argv: ['bootc', 'rollback'], after: 'rollback-queued' }]);
    await run(applyRollback, host, { reboots: true });
    expect(host.ran.at(-1)).toEqual(['systemctl', 'reboot']);
  });
});

it('drops what a failed rpm-ostree command has staged, and names the update driver', async () => {
  const host = bootcNode('fresh');
  const booted = rpmOstreeDeployment('1', { booted: true });
  const print = (...deployments: readonly object[]): void => {
    host.on(['rpm-ostree', 'status', '--json']).prints(rpmOstreeOutput(deployments));
  };
  host.on(['bootc', rest]).isMissing().on(['rpm-ostree', '--version']).succeeds();
  host.on(['rpm-ostree', 'cleanup', '--base']).succeeds();
  host.on(['rpm-ostree', 'cleanup', '--pending']).answers(() => {
    print(booted);
  });
  print(booted);
  host.on(['rpm-ostree', 'rebase', rest]).answers(() => {
    print(rpmOstreeDeployment('2', { staged: true }), booted);
    const stderr =
      'error: Failed to load package list: Loading package list: No package database found';
    return { exitCode: 1, stderr };
  });
  const order = { image: imageOf('2') };
  await expect(run(applyImage, host, order)).rejects.toMatchObject({ code: 'command.failed' });
  expect(host.ran.at(-1)).toEqual(['rpm-ostree', 'cleanup', '--pending']);
  const stderr = 'error: Updates and deployments are driven by Zincati (zincati.service)';
  host.on(['rpm-ostree', 'rebase', rest]).fails(1, stderr);
  await expect(run(applyImage, host, order)).rejects.toMatchObject({
    code: 'os.update-driver',
    message: 'updates of this host are driven by Zincati (zincati.service)',
  });
});
