import { describe, expect, it } from 'vitest';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeReports } from '../../../test/support/fake-inventory.ts';
import { runStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import { keepUnreported } from './keep-unreported.ts';

const config: ConfigInput = {
  service: { url: 'http://user:secret@svc.example/prefix' },
  cluster: { id: 'c', infraEnvId: 'i', hostId: 'h' },
};
const disk = coreOsDisk('sda');
const rebooting = { stage: 'Rebooting', info: '' } as const;
const logFile = '/var/log/assisted-installer.log';
const kept = '/mnt/bootwright-root/bootwright';

function writtenHost(children = disk.children): FakeHost {
  const host = fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput({ ...disk, children }));
  for (const program of ['mkdir', 'mount', 'umount', 'fsfreeze', 'install']) {
    host.on([program, rest]).succeeds();
  }
  return host.withFile(logFile, 'the log\n');
}

const setUp = (host: FakeHost, isTaken = false, isPresent = false) => ({
  config,
  host,
  reports: fakeReports({ unanswered: [rebooting] }),
  facts: { disk: targetOf(disk), ironic: { isPresent }, upload: { isTaken } },
});

describe('finish/keep-unreported', () => {
  it.each([
    [false, ''],
    [true, 'Ironic will reboot the node shortly'],
  ])('reports that the host reboots (by ironic: %s)', async (isPresent, stageInfo) => {
    const { events } = await runStep(keepUnreported, setUp(writtenHost(), false, isPresent));
    expect(events[0]).toMatchObject({ stage: 'Rebooting', stageInfo });
  });

  it('writes the unanswered reports and the log to the root file system', async () => {
    const host = writtenHost();
    const { notes } = await runStep(keepUnreported, setUp(host));
    expect(host.ran.filter(([program]) => program !== 'lsblk')).toEqual([
      ['mkdir', '-p', '/mnt/bootwright-root'],
      ['mount', '/dev/sda4', '/mnt/bootwright-root'],
      ['fsfreeze', '--unfreeze', '/mnt/bootwright-root'],
      ['install', '--directory', '--mode=0700', kept],
      ['umount', '/mnt/bootwright-root'],
    ]);
    expect(host.textOf(`${kept}/installer.log`)).toBe('the log\n');
    expect(JSON.parse(host.textOf(`${kept}/unreported.json`) ?? '')).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      service: 'http://svc.example/prefix',
      clusterId: 'c',
      infraEnvId: 'i',
      hostId: 'h',
      unreported: [rebooting],
      areLogsUploaded: false,
    });
    expect(notes).toEqual([
      'warn: saved unsent reports and logs in /sysroot/bootwright of the node',
    ]);
  });

  it('keeps the end of a long log', async () => {
    const host = writtenHost().withFile(logFile, `${'x'.repeat(9 * 1024 * 1024)}end\n`);
    await runStep(keepUnreported, setUp(host));
    const log = host.textOf(`${kept}/installer.log`) ?? '';
    expect(log).toHaveLength(8 * 1024 * 1024);
    expect(log.endsWith('end\n')).toBe(true);
  });

  it('keeps the reports although log.file cannot be read, /dev/null for example', async () => {
    const host = writtenHost();
    const message = `${logFile} is no regular file`;
    const readText = () => Promise.reject(hostFailure('file.not-read', message));
    await runStep(keepUnreported, { ...setUp(host), host: { ...host, readText } });
    expect(host.textOf(`${kept}/unreported.json`)).toContain('"stage": "Rebooting"');
    expect(host.textOf(`${kept}/installer.log`)).toBe(message);
  });

  it('keeps an unanswered report although the logs are uploaded', async () => {
    const host = writtenHost();
    await runStep(keepUnreported, setUp(host, true));
    expect(host.textOf(`${kept}/unreported.json`)).toContain('"areLogsUploaded": true');
  });

  it('runs nothing when the service has accepted everything', async () => {
    const host = writtenHost();
    await runStep(keepUnreported, { ...setUp(host, true), reports: fakeReports() });
    expect(host.ran).toEqual([]);
  });

  it.each([
    ['a failed mount', writtenHost().on(['mount', rest]).fails(32), 1],
    ['a disk without a root partition', writtenHost([]), 0],
    ['a full disk', writtenHost().on(['install', rest]).fails(1), 1],
  ])('continues after %s, and leaves nothing mounted', async (_, host, unmounts) => {
    const { notes } = await runStep(keepUnreported, setUp(host));
    expect(notes.join()).toContain('they are lost with the reboot');
    expect(host.ran.filter(([program]) => program === 'umount')).toHaveLength(unmounts);
  });
});
