import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { SingleHost } from '../../mocks/lab/single-host.ts';
import type { HostFinding } from '../../src/cli/doctor/check.ts';
import { bundle, openHost } from './faulty-run.ts';
import { runThere } from './own-pid-one.ts';

interface Answer {
  readonly exitCode: number;
  readonly found: ReadonlyMap<string, HostFinding>;
}

function findingsIn(text: string): Answer['found'] {
  const { findings } = JSON.parse(text) as { readonly findings: readonly HostFinding[] };
  return new Map(findings.map((one) => [one.check, one]));
}

function doctor(host: SingleHost, words: readonly string[] = host.words): Promise<Answer> {
  const args = [bundle, 'doctor', '--format', 'json', ...words];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: host.environment }, (error, stdout) => {
      resolve({ exitCode: Number(error?.code ?? 0), found: findingsIn(stdout) });
    });
  });
}

const states = ({ found }: Answer): Readonly<Record<string, string>> =>
  Object.fromEntries([...found].map(([check, { state }]) => [check, state]));

describe('bootwright doctor', () => {
  it('reports ok for an installable host and changes nothing', async () => {
    await using host = await openHost();
    const answer = await doctor(host);
    expect(states(answer)).toEqual({
      configuration: 'ok',
      agent: 'ok',
      system: 'ok',
      programs: 'ok',
      memory: 'ok',
      'coreos-installer': 'ok',
      clock: 'ok',
      firmware: 'ok',
      disk: 'ok',
      service: 'ok',
      Ignition: 'ok',
      'disk/resolve': 'ok',
      'disk/check': 'ok',
      'image/choose': 'ok',
    });
    expect(answer.found.get('disk')?.says).toMatch(
      /^\/dev\/sda .*disk: \{hints: \{serialNumber: "LAB01"\}\}$/,
    );
    expect(answer.exitCode).toBe(0);
    expect(host.machine.unknown).toEqual([]);
    expect(host.inventory.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
    const { ran } = host.machine;
    const programs = new Set(ran.map(({ argv }) => argv[0]));
    expect(ran.filter(({ argv }) => argv[0] === 'wipefs').map(({ argv }) => argv)).toEqual([
      ['wipefs', '--all', '--no-act', '/dev/sda'],
    ]);
    expect([...programs].sort()).toEqual([
      'coreos-installer',
      'lsblk',
      'sh',
      'test',
      'timedatectl',
      'uname',
      'wipefs',
    ]);
  });

  it('reports an unreachable service and image without the waits of an installation', async () => {
    await using host = await openHost();
    await host.inventory.close();
    const image = ['--image.url', 'http://127.0.0.1:1/metal.raw', '--image.allowUnverified'];
    const { found, exitCode } = await doctor(host, [...host.words, ...image]);
    for (const row of ['service', 'Ignition'])
      expect(found.get(row)).toMatchObject({
        state: 'failed',
        code: 'inventory.unreachable',
        says: expect.stringContaining('connection refused') as string,
      });
    expect(found.get('disk/check')).toMatchObject({ state: 'ok' });
    expect(found.get('image/choose')).toMatchObject({ state: 'failed', code: 'web.unreachable' });
    expect(exitCode).toBe(5);
  });

  it('reports a missing disk and the checks that depend on it', async () => {
    await using host = await openHost();
    const words = host.words.map((word) => (word === '/dev/sda' ? '/dev/nope' : word));
    const { found, exitCode } = await doctor(host, words);
    expect(found.get('disk/resolve')).toMatchObject({ state: 'failed', kind: 'input' });
    expect(found.get('disk/check')).toMatchObject({ state: 'not checked' });
    expect(exitCode).toBe(2);
  });

  it('checks only the host without flags', async () => {
    await using host = await openHost();
    const answer = await doctor(host, []);
    expect(answer.found.get('configuration')?.state).toBe('not checked');
    expect(answer.found.has('disk/resolve')).toBe(false);
    expect(answer.exitCode).toBe(0);
  });

  it('runs the programs of a real host', async () => {
    const printed = await runThere(bundle, 'doctor', '--format', 'json');
    const found = findingsIn(printed);
    expect(found.get('system')).toMatchObject({ state: 'warning' });
    expect(found.get('system')?.says).toMatch(/Debian.*(x86_64|aarch64): not CoreOS/);
    expect(found.get('programs')?.says).toMatch(/^missing: .*coreos-installer/);
    expect(found.get('coreos-installer')?.code).toBe('command.not-found');
    expect(found.get('memory')?.says).toMatch(/^\d+\.\d GB/);
    expect(found.get('clock')?.state).toMatch(/ok|warning/);
  });
});
