import { describe, expect, it } from 'vitest';
import { type Device, devicesOf } from './devices.ts';
import { coreosPartitions, partitionsFor } from './disk-layout.ts';
import { firmwareOf } from './firmware.ts';
import { noImages } from './images.ts';
import { decideBoot } from './installed-system.ts';
import { type Machine, WriterSettings } from './machine.ts';
import { unitsOf } from './units.ts';

const sda: Device = {
  kname: 'sda',
  name: 'sda',
  majorMinor: '8:0',
  type: 'disk',
  sizeBytes: 1e11,
  sectorBytes: 512,
  parents: [],
};

function machine(fields: Partial<Machine>): Machine {
  const devices = devicesOf([sda, ...partitionsFor(sda, coreosPartitions)], () => undefined);
  return {
    name: 'm1',
    devices,
    firmware: firmwareOf('bios'),
    files: { root: '/', real: () => Promise.reject(new Error('no files')) },
    writer: WriterSettings.parse({}),
    ran: [],
    unknown: [],
    locks: new Set(),
    units: unitsOf([]),
    stores: new Map(),
    hostname: 'm1',
    addresses: [],
    live: {
      firmware: 'bios',
      hostname: 'm1',
      hasOc: true,
      nodeImageSeconds: 0,
      registryKibibytes: 0,
      files: {},
      units: [],
    },
    images: noImages(),
    deployments: new Map(),
    selinux: { isEnforcing: true },
    frozen: new Set(),
    installed: { disk: 'sda', ignition: '', writerArgs: [] },
    ...fields,
  };
}

function uefi(label: 'own' | 'foreign'): Machine {
  const one = machine({ firmware: firmwareOf('uefi') });
  const [, esp] = one.devices.childrenOf(sda);
  const uuid = label === 'own' ? (esp?.entry?.uuid ?? '') : 'of another disk';
  one.firmware.entries = [
    ...one.firmware.entries,
    { number: '0000', label: 'Red Hat Enterprise Linux', partition: { uuid, number: 2 } },
  ];
  one.firmware.order = ['0000', '0001'];
  return one;
}

describe('what a machine starts', () => {
  it.each([
    { name: 'a BIOS takes the disk', of: machine({}), kind: 'installed' },
    { name: 'nothing is installed', of: machine({ installed: undefined }), kind: 'live' },
    { name: 'UEFI without an entry', of: machine({ firmware: firmwareOf('uefi') }), kind: 'live' },
    { name: 'UEFI with the entry first', of: uefi('own'), kind: 'installed' },
    { name: 'UEFI with a phantom first', of: uefi('foreign'), kind: 'live' },
    {
      name: 'a half-written disk',
      of: machine({ devices: devicesOf([sda], () => undefined) }),
      kind: 'live',
    },
  ])('$name: $kind', ({ of, kind }) => {
    expect(decideBoot(of).kind).toBe(kind);
  });
});
