import { describe, expect, it } from 'vitest';
import { blockDevice, lsblkOutput } from '../../../test/support/disk-samples.ts';
import type { BlockDevice } from '../../steps/disk/block-devices.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { generations } from '../../../test/live-images/generations.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { askCheck, type HostFinding } from './check.ts';
import { findDisks, hostChecks, oldestWriter, programsOf, systemCheck } from './host-checks.ts';

const check = (name: string, host: FakeHost, config: ConfigInput = {}): Promise<HostFinding> => {
  const found = [systemCheck, ...hostChecks].find((one) => one.name === name);
  if (found === undefined) throw new Error(`no check ${name}`);
  return askCheck(found, {
    host,
    inventory: fakeInventory(),
    config: Config.parse(config),
    signal: new AbortController().signal,
  });
};
const os = (text: string): FakeHost =>
  fakeHost().withFile('/etc/os-release', text).on(['uname', '-m']).prints('x86_64');
const uefi = (isUefi: boolean): FakeHost =>
  fakeHost()
    .on(['test', '-d', '/sys/firmware/efi'])
    .fails(isUefi ? 0 : 1);
const writer = (output: string): FakeHost =>
  fakeHost().on(['coreos-installer', '--version']).prints(output);
const memory = (kib: number): FakeHost =>
  fakeHost().withFile('/proc/meminfo', `MemTotal:       ${kib} kB\nMemFree: 1 kB\n`);
const clock = (answer: string): FakeHost => fakeHost().on(['timedatectl', rest]).prints(answer);

describe('hostChecks', () => {
  it.each<[string, string, FakeHost, HostFinding['state'], RegExp, ConfigInput?]>([
    ['system', 'of RHEL CoreOS', os('ID="rhcos"\nPRETTY_NAME="RHCOS 418"\n'), 'ok', /RHCOS 418/],
    ['system', 'of Debian', os('ID=debian\nNAME="Debian"\n'), 'warning', /Debian.*not CoreOS/],
    ['coreos-installer', 'of 4.14', writer('coreos-installer 0.15.0'), 'ok', /^0\.15\.0$/],
    ['coreos-installer', 'too old', writer('coreos-installer 0.5.0'), 'warning', /0\.5\.0/],
    ['coreos-installer', 'of an unknown version', writer('hello'), 'warning', /hello/],
    ['memory', 'too little for a master', memory(8_000_000), 'warning', /8\.2 GB; .*16 GB/],
    ['memory', 'enough for a worker', memory(8_000_000), 'ok', /8\.2 GB/, { role: 'worker' }],
    ['memory', 'that is unknown', fakeHost(), 'warning', /no total/],
    ['clock', 'that is synchronized', clock('yes'), 'ok', /synchronized/],
    ['clock', 'that is not synchronized', clock('no'), 'warning', /not synchronized/],
    [
      'clock',
      'without timedatectl',
      fakeHost().on(['timedatectl', rest]).isMissing(),
      'warning',
      /not known/,
    ],
    ['firmware', 'of BIOS', uefi(false), 'ok', /BIOS/],
  ])('checks %s %s', async (...[name, , host, state, says, config]) => {
    const finding = await check(name, host, config);
    expect(finding).toMatchObject({ check: name, state });
    expect(finding.says).toMatch(says);
    expect(finding.hint === undefined).toBe(state === 'ok');
  });

  it('lists the missing programs of the plan', async () => {
    const host = uefi(false).on(['sh', '-c', rest]).prints('wipefs\nlsblk');
    expect(await check('programs', host)).toMatchObject({
      state: 'failed',
      says: 'missing: wipefs, lsblk',
    });
    const checked = host.ran.at(-1) ?? [];
    expect(checked).toEqual(expect.arrayContaining(['coreos-installer', 'lsblk', 'wipefs']));
    expect(checked).not.toContain('efibootmgr');
    expect(checked).not.toContain('bootlist');
  });

  it('requires no programs of skipped steps', () => {
    const disks = { disk: { cleanup: false } };
    expect(programsOf(Config.parse({}))).toContain('mdadm');
    expect(programsOf(Config.parse(disks))).not.toContain('mdadm');
  });

  it('requires the coreos-installer of the oldest supported live image', () => {
    expect(generations[0]?.versions['coreos-installer']?.split('-')[0]).toBe(oldestWriter);
  });
});

const path = '/dev/disk/by-path/pci-0000:00:05.0';
it.each<readonly [says: string, disks: readonly BlockDevice[], host: FakeHost]>([
  [
    '/dev/sda (107 GB, S1): disk: {hints: {serialNumber: "S1"}}',
    [blockDevice('sda', { serial: 'S1' })],
    fakeHost(),
  ],
  [
    `/dev/vda (107 GB): disk: {hints: {deviceName: "${path}"}}`,
    [blockDevice('vda')],
    fakeHost().withLink(path, '/dev/vda'),
  ],
  ['/dev/vda (107 GB): disk: {device: /dev/vda}', [blockDevice('vda')], fakeHost()],
  ['none', [], fakeHost()],
])(
  'findDisks reports each disk with the setting that selects it: %s',
  async (says, disks, host) => {
    host.on(['lsblk', rest]).prints(lsblkOutput(...disks));
    const { signal } = new AbortController();
    const scope = { host, inventory: fakeInventory(), config: Config.parse({}), signal };
    expect((await findDisks(scope)).map((one) => one.says)).toEqual([says]);
  },
);
