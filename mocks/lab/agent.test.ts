import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterSeed } from '../inventory/records.ts';
import { failureIn, followEvents, installArguments, settingVariable } from './agent.ts';
import { HostSpec } from './scenario.ts';

const facts = {
  host: HostSpec.parse({ name: 'w1', role: 'worker', installerArgs: ['--append-karg', 'a=b'] }),
  hostId: 'H',
  infraEnvId: 'I',
  serviceUrl: 'http://SVC',
  bootDevice: '/dev/disk/by-id/x',
};

describe('the install command', () => {
  it('has the flags in the order of the service', () => {
    const words = installArguments({ ...facts, cluster: clusterSeed({ id: 'C' }) });
    expect(words.filter((word) => word.startsWith('--'))).toEqual([
      '--role',
      '--infra-env-id',
      '--cluster-id',
      '--host-id',
      '--boot-device',
      '--url',
      '--controller-image',
      '--agent-image',
      '--control-plane-count',
      '--mco-image',
      '--must-gather-image',
      '--openshift-version',
      '--check-cluster-version',
      '--installer-args',
    ]);
    expect(words.at(-1)).toBe('["--append-karg","a=b"]');
  });

  it('tells hosts to write the final system where the service is set so', () => {
    const words = installArguments({ ...facts, cluster: clusterSeed(), skipsMcoReboot: true });
    expect(words).toContain('--enable-skip-mco-reboot');
  });

  it('names no release on day 2', () => {
    const cluster = clusterSeed({ kind: 'AddHostsCluster', controlPlaneCount: 0 });
    const words = installArguments({ ...facts, cluster });
    expect(words).not.toContain('--mco-image');
    expect(words).not.toContain('--openshift-version');
    expect(words).not.toContain('--control-plane-count');
  });
});

describe('the variable of a setting', () => {
  it.each([
    ['host.root', 'BOOTWRIGHT_HOST_ROOT'],
    ['image.sha256', 'BOOTWRIGHT_IMAGE_SHA256'],
    ['finish.rebootDelayMinutes', 'BOOTWRIGHT_FINISH_REBOOT_DELAY_MINUTES'],
  ])('%s is %s', (name, variable) => {
    expect(settingVariable(name)).toBe(variable);
  });
});

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-events-'));
  file = join(folder, 'events.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What is told of a file by its end. */
function eventsIn(write: () => void): readonly unknown[] {
  const events: unknown[] = [];
  const follower = followEvents(file, (event) => events.push(event));
  write();
  follower.end();
  return events;
}

describe('a file of events', () => {
  it('tells of each whole line, in order', () => {
    const write = (): void => {
      writeFileSync(file, '{"a":1}\n{"a"');
      appendFileSync(file, ':2}\n');
    };
    expect(eventsIn(write)).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it('tells of lines that are longer than what is read at once, letters of several bytes whole', () => {
    const long = 'ä'.repeat(200_001);
    const lines = [long, 'b', long].map((a) => `${JSON.stringify({ a })}\n`);
    expect(eventsIn(() => writeFileSync(file, lines.join('')))).toEqual([
      { a: long },
      { a: 'b' },
      { a: long },
    ]);
  });

  it.each([
    ['that is not there', () => undefined, []],
    ['whose last line is torn', () => writeFileSync(file, '{"a":1}\n{"a":'), [{ a: 1 }]],
    ['with a line that is none', () => writeFileSync(file, '{"a"\n{"a":1}\n'), [{ a: 1 }]],
  ])('%s is no error', (_, write, expected) => {
    expect(eventsIn(write)).toEqual(expected);
  });
});

const end = { exitCode: 4, signal: undefined };

describe('the failure in the log of an agent', () => {
  it.each([
    {
      name: 'the three lines',
      log: '{"level":"info"}\nfailed: disk.busy: /dev/sda is busy: x\nwhy: y\nnext: z\n',
      failure: { code: 'disk.busy', message: '/dev/sda is busy: x', hint: 'z' },
    },
    { name: 'a crash', log: 'boom\n', failure: { code: 'exit 4', message: 'boom' } },
  ])('$name', ({ log, failure }) => {
    expect(failureIn(log, end)).toEqual(failure);
  });

  it('names the signal that ended it', () => {
    expect(failureIn('', { exitCode: undefined, signal: 'SIGKILL' }).code).toBe('exit SIGKILL');
  });
});
