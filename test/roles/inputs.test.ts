// No role changes a disk with a missing or invalid input.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/schema.ts';
import { inventoryFailure } from '../../src/adapters/http/failures.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import type { Storage } from '../../src/ignition/types.ts';
import { downloadOf } from '../support/download.ts';
import { bootstrapFile } from './control-plane.ts';
import { cornerOf, type Kind } from './corners.ts';
import { live } from './processes.ts';
import { memoryJournal } from '../support/memory-journal.ts';
import { newWorld, type World } from './world.ts';

interface Input {
  readonly code: string;
  readonly config?: ConfigInput;
  readonly spoil?: (world: World) => void;
  /** The kinds of hosts with this input; all by default. */
  readonly kinds?: readonly Kind[];
}

const kinds = ['bootstrap', 'master', 'arbiter', 'worker', 'single node'] as const;
const ofOwnSource: readonly Kind[] = ['master', 'arbiter', 'worker'];
const ofBootstrap: readonly Kind[] = ['bootstrap', 'single node'];
const notFound = inventoryFailure('inventory.not-found', 'the service answered 404');
const fromStore = { source: 's3' } as const;
const noSum = 'a'.repeat(64);

const openKeyfile = ({ machine }: World): void => {
  const folder = join(machine.files.root, 'opt/network');
  mkdirSync(folder);
  const keyfile = '[connection]\nid=eth0\ntype=ethernet\n';
  writeFileSync(join(folder, 'eth0.nmconnection'), keyfile, { mode: 0o644 });
};

const inputs: Readonly<Record<string, Input>> = {
  'Ignition, 404 at the service': {
    code: 'inventory.not-found',
    spoil: ({ inventory }) => inventory.failing('hostIgnition', notFound, 99),
  },
  'Ignition, a web page': {
    code: 'ignition.html-page',
    spoil: ({ inventory }) =>
      inventory.answering({ hostIgnition: () => Promise.resolve(downloadOf('<!DOCTYPE html>')) }),
  },
  'Ignition, 404 at a URL': {
    code: 'web.refused',
    config: { ignition: { url: 'http://mirror.example/none.ign' } },
  },
  'Ignition, a missing file': {
    code: 'ignition.file-not-found',
    config: { ignition: { file: '/opt/none.ign' } },
  },
  'Ignition, missing in the object store': {
    code: 'objects.not-found',
    config: { ignition: fromStore, s3: { endpoint: 'http://s3.example', bucket: 'none' } },
  },
  'Ignition, a wrong digest': {
    code: 'ignition.wrong-digest',
    config: { ignition: { sha256: noSum } },
  },
  'CA of Ignition, a missing file': {
    code: 'ignition.file-not-found',
    config: { ignition: { url: 'https://mirror.example/host.ign', caFile: '/opt/none.pem' } },
  },
  'bootstrap.ign, 404 at the service': {
    code: 'inventory.not-found',
    spoil: ({ inventory }) => inventory.failing('clusterFile', notFound, 99),
    kinds: ofBootstrap,
  },
  'bootstrap.ign, without a pull secret': {
    code: 'ignition.file-missing',
    spoil: ({ inventory }) =>
      inventory.answering({
        clusterFile: () => Promise.resolve(downloadOf('{"ignition":{"version":"3.2.0"}}')),
      }),
    kinds: ofBootstrap,
  },
  'an unknown version of the cluster': {
    code: 'config.incomplete',
    config: { cluster: { openshiftVersion: '' } },
    spoil: ({ inventory }) =>
      inventory.answering({
        clusterFile: () =>
          Promise.resolve(downloadOf(bootstrapFile.replace('openshift-install-manifests', 'none'))),
      }),
    kinds: ofBootstrap,
  },
  'an image, 404 at its URL': {
    code: 'web.refused',
    config: { image: { url: 'http://mirror.example/none.raw' } },
  },
  'an image, a missing file': {
    code: 'image.file-missing',
    config: { image: { file: '/run/media/iso/none.raw' } },
  },
  'an image, a wrong digest': {
    code: 'image.wrong-digest',
    config: { image: { file: '/run/media/iso/image.raw', sha256: noSum } },
  },
  'stream metadata, a missing file': {
    code: 'image.file-missing',
    config: { image: { stream: '/opt/none.json' } },
  },
  'a configuration file for coreos-installer, missing': {
    code: 'image.writer-config',
    config: { image: { writerArgs: ['-c', '/opt/none.yaml'] } },
  },
  'an option that coreos-installer does not know': {
    code: 'image.writer-arguments',
    config: { image: { writerArgs: ['--append-kargs=nosmt'] } },
  },
  'an image file for coreos-installer, missing': {
    code: 'image.file-missing',
    config: { image: { writerArgs: ['-f', '/opt/none.raw'] } },
  },
  'an image URL for coreos-installer, 404': {
    code: 'web.refused',
    config: { image: { writerArgs: ['--image-url', 'http://mirror.example/none.raw'] } },
  },
  'an image URL in its configuration file, 404': {
    code: 'web.refused',
    config: { image: { writerArgs: ['-c', '/opt/writer.yaml'] } },
    spoil: ({ machine }) =>
      writeFileSync(
        join(machine.files.root, 'opt/writer.yaml'),
        'image-url: http://mirror.example/none.raw\n',
      ),
  },
  'a stream for coreos-installer, 404': {
    code: 'web.refused',
    config: {
      image: { writerArgs: ['-s', 'testing', '--stream-base-url', 'http://mirror.example/s/'] },
    },
  },
  'Ignition for coreos-installer, a missing file': {
    code: 'ignition.file-not-found',
    config: { image: { writerArgs: ['-i', '/opt/none.ign'] } },
  },
  'Ignition for coreos-installer, not JSON': {
    code: 'ignition.not-json',
    config: { image: { writerArgs: ['-i', '/opt/writer.yaml'] } },
    spoil: ({ machine }) => writeFileSync(join(machine.files.root, 'opt/writer.yaml'), 'a: b'),
  },
  'Ignition, a wrong digest for coreos-installer': {
    code: 'ignition.wrong-digest',
    config: { image: { writerArgs: ['--ignition-hash', `sha256-${noSum}`] } },
  },
  'Ignition, an unknown kind of digest': {
    code: 'ignition.wrong-digest',
    config: { image: { writerArgs: [`--ignition-hash=md5-${noSum}`] } },
  },
  'network settings for coreos-installer, a missing directory': {
    code: 'image.writer-config',
    config: { image: { writerArgs: ['-n', '--network-dir', '/opt/none'] } },
  },
  'keyfiles readable by others, for a disk': {
    code: 'network.bad-keyfile',
    config: { network: { keyfiles: '/opt/network' } },
    spoil: openKeyfile,
  },
  'keyfiles readable by others, for the running root': {
    code: 'network.bad-keyfile',
    config: {
      image: { existingRoot: 'registry.example/none:1' },
      network: { keyfiles: '/opt/network' },
    },
    spoil: openKeyfile,
  },
  'a registry CA, a missing file': {
    code: 'registries.bad-ca',
    config: { registries: { ca: '/opt/none.pem' } },
  },
  'a hook, a missing file': {
    code: 'hook.not-executable',
    config: { hooks: { after: '/opt/hooks/none' } },
  },
  'a hook that fails before the write': {
    code: 'hook.failed',
    config: { hooks: { before: '/opt/hooks/before' } },
    spoil: ({ machine }) =>
      writeFileSync(join(machine.files.root, 'opt/hooks/before'), '#!/bin/sh\nexit 3\n'),
  },
  'an image for the running root, missing in its registry': {
    code: 'command.failed',
    config: { image: { existingRoot: 'registry.example/none:1' } },
  },
};

interface LostKept {
  readonly code: string;
  /** The label of the partition that is to be kept; the disk has one with the label data. */
  readonly label: string;
  /** Of the Ignition config of the host. */
  readonly storage?: Storage;
}

/** Partitions that cannot be kept. */
const lostKept: Readonly<Record<string, LostKept>> = {
  'a missing partition label': { code: 'image.partition-missing', label: 'precious' },
  'what a wipeTable of its Ignition would wipe': {
    code: 'disk.keep-wiped',
    label: 'data',
    storage: { disks: [{ device: '/dev/disk/by-id/wwn-0x5000c500a1b2c301', wipeTable: true }] },
  },
  'what a wipeFilesystem of its Ignition would wipe by its label': {
    code: 'disk.keep-wiped',
    label: 'data',
    storage: {
      filesystems: [{ device: '/dev/disk/by-partlabel/data', format: 'xfs', wipeFilesystem: true }],
    },
  },
};

/** A single node merges only the Ignition config of its service with its rendered one. */
const has = (kind: Kind, { kinds: given, config }: Input): boolean =>
  given === undefined
    ? (config?.ignition?.url ?? config?.ignition?.file) === undefined || ofOwnSource.includes(kind)
    : given.includes(kind);

const cases = kinds.flatMap((kind) =>
  Object.entries(inputs)
    .filter(([, input]) => has(kind, input))
    .map(([name, input]) => [kind, name, input] as const),
);

/** Programs that change the content of a disk. */
const destroying = /^(mdadm|dmsetup|wipefs|dd|sgdisk|blkdiscard|coreos-installer|ostree)$/;

describe('does not change a disk', () => {
  it.each(cases)('of a %s: %s', async (kind, _, { code, config = {}, spoil }) => {
    const host = {
      config: cornerOf(kind, { disk: { format: ['/dev/sdb'] }, ...config }),
      plan: {
        disks: [
          { name: 'sda', leftovers: 'lvm' as const },
          { name: 'sdb', leftovers: 'raid' as const },
        ],
      },
    };
    const world = newWorld(host);
    spoil?.(world);
    const { machine } = world;
    const before = structuredClone(machine.devices.all());
    const { error } = await live(world, { ...host, journal: memoryJournal(), commands: 1e6 });
    expect(error).toMatchObject({ code });
    const ran = machine.ran.filter(
      ({ argv }) => !argv.includes('--no-act') && argv.at(-1) !== '/dev/null',
    );
    expect(ran.filter(({ argv: [program = ''] }) => destroying.test(program))).toEqual([]);
    expect(machine.devices.all()).toEqual(before);
  });

  const kept = kinds.flatMap((kind) =>
    Object.entries(lostKept).map(([name, input]) => [kind, name, input] as const),
  );

  it.each(kept)('of a %s that keeps %s', async (kind, _, { code, label, storage = {} }) => {
    const config = cornerOf(kind, {
      disk: { format: ['/dev/sdb'] },
      image: { writerArgs: ['--save-partlabel', label] },
    });
    const leftovers = 'data' as const;
    const world = newWorld({
      config,
      plan: {
        disks: [
          { name: 'sda', leftovers },
          { name: 'sdb', leftovers },
        ],
      },
    });
    const ignition = JSON.stringify({ ignition: { version: '3.2.0' }, storage });
    world.inventory.answering({ hostIgnition: () => Promise.resolve(downloadOf(ignition)) });
    const before = structuredClone(world.machine.devices.all());
    const { error } = await live(world, { config, journal: memoryJournal(), commands: 1e6 });
    expect(error).toMatchObject({ code });
    expect(world.machine.devices.all()).toEqual(before);
  });
});

describe('a run that is resumed after the first loss', () => {
  const hash = '$6$0123456789abcdef$ghijklmnopqrstuvwxyz';
  const withHash = JSON.stringify({
    ignition: { version: '3.2.0' },
    passwd: { users: [{ name: 'core', passwordHash: hash }] },
  });
  /** Stops a run at the start of the write, and runs again. */
  async function resumed(kind: Kind) {
    const config = cornerOf(kind, {});
    const world = newWorld({ config, plan: {} });
    const { inventory, machine } = world;
    inventory.answering({ hostIgnition: () => Promise.resolve(downloadOf(withHash)) });
    const journal = memoryJournal();
    const stop = new AbortController();
    const heard = ({ type, ...event }: RunEvent) => {
      if (type === 'step.started' && 'step' in event && event.step === 'image/write')
        stop.abort(new Error('the test stops it'));
    };
    await live(world, { config, journal, commands: 1e6, heard, signal: stop.signal });
    const saved = journal
      .entries()
      .flatMap((entry) => ('fact' in entry ? [entry.fact as { path?: string } | null] : []))
      .flatMap((fact) => (fact?.path?.endsWith('.ign') === true ? [fact.path] : []));
    const texts = new Map<string, string>();
    for (const path of saved) {
      const place = machine.files.real(path);
      texts.set(path, await readFile(place, 'utf8'));
    }
    journal.restart();
    const life = await live(world, { config, journal, commands: 1e6 });
    expect(life.error).toBeUndefined();
    for (const [path, text] of texts) {
      expect(await readFile(machine.files.real(path), 'utf8')).toBe(text);
    }
    const fetched = inventory.calls.filter((call) => call.startsWith('hostIgnition')).length;
    return { fetched, count: texts.size };
  }

  it.each(kinds)('of a %s reuses its Ignition', async (kind) => {
    const { fetched, count } = await resumed(kind);
    expect([fetched, count]).toEqual([1, ofBootstrap.includes(kind) ? 2 : 1]);
  });
});
