import { givenHints, renderDiskHints } from '../../settings/disk-hints.ts';
import { minutes } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { step } from '../step.ts';
import {
  deviceAt,
  isUnformatted,
  multipathOver,
  readBlockDevices,
  type BlockDevice,
  lsblkArgv,
} from './block-devices.ts';
import { type DiskIdentity, TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { availableDisks, chooseByHints, describeDisk, isWhole } from './hints.ts';
import { findSaved, readTable, tableArgv } from './kept.ts';
import { byIdNames, nameDifference, rivalsOf } from './target.ts';
import { mayKeepPartitions, readWriterSetup } from './writer-args.ts';

/**
 * Finds the configured disk. Links are resolved, because coreos-installer reports busy partitions
 * incorrectly for names other than those of the kernel (coreos-installer issue 512).
 */
export const resolveDisk = step({
  id: 'disk/resolve',
  title: 'Find the install disk',
  uses: ['host'],
  gives: TargetDisk,
  when: writesDisk,
  effect: 'reads',
  limit: minutes(5),
  explain: ({ disk }) =>
    [disk.device, renderDiskHints(disk.hints)].filter((word) => word !== '').join(' with ') ||
    'no install disk is set',
  preview: ({ disk, image }) => [
    lsblkArgv,
    ...(mayKeepPartitions(image.writerArgs) ? [tableArgv(disk.device)] : []),
  ],
  run: async (scope) => {
    const { host, config, signal, note } = scope;
    const { hints } = config.disk;
    const paths = new Map<string, string>();
    for (const path of [config.disk.device, hints.deviceName ?? '']) {
      if (path !== '') paths.set(path, (await host.realPath(path, signal)) ?? path);
    }
    const roots = await readBlockDevices(host, signal);
    const byHints = givenHints(hints).length > 0;
    const chosen = byHints ? `/dev/${chooseByHints(roots, hints, paths).kname}` : '';
    const [asked, real] = [...paths][0] ?? [chosen, chosen];
    const device = chooseDisk(roots, { asked, real });
    note('info', `the install disk is ${device.path}${byHints ? '' : alias(asked, device)}`, {
      sizeBytes: device.sizeBytes,
      model: device.model,
      serial: device.serial,
    });
    const extra: DiskIdentity[] = [];
    for (const name of config.disk.format) {
      const path = (await host.realPath(name, signal)) ?? name;
      const found = deviceAt(roots, path);
      if (found === undefined) continue;
      extra.push(identityOf(found, { asked: name, byId: await byIdNames(host, path, signal) }));
    }
    const byId = await byIdNames(host, real, signal);
    const target = { ...identityOf(device, { asked, byId }), path: real };
    const { saved, keepsPartitions } = await readWriterSetup(scope);
    const table = keepsPartitions ? await readTable(host, target, signal) : [];
    return {
      ...target,
      ...(keepsPartitions ? { kept: findSaved(saved, table).kept } : {}),
      ...(byHints ? { hints } : {}),
      ...(extra.length === 0 ? {} : { extra }),
    };
  },
});

/** The configured name of a disk, if it differs from its kernel path. */
const alias = (asked: string, { path }: BlockDevice): string =>
  asked === path ? '' : `, asked for as ${asked}`;

const identityOf = (
  device: BlockDevice,
  names: Pick<DiskIdentity, 'asked' | 'byId'>,
): DiskIdentity => ({
  ...names,
  path: `/dev/${device.kname}`,
  name: device.kname,
  majorMinor: device.majorMinor,
  sizeBytes: device.sizeBytes,
  // A DASD reports 512 until coreos-installer formats it with blocks of 4096 bytes.
  sectorBytes: isUnformatted(device) ? 4096 : device.sectorBytes,
  type: device.type,
  serial: device.serial,
  wwn: device.wwn,
});

/**
 * The device at a path, if the operating system can be written to it.
 * @param asked as configured, usually `/dev/disk/by-id/…`
 * @param real with every link resolved
 * @throws AgentError `disk.missing`, `disk.not-whole`, `disk.multipath-member`, `disk.not-the-one`,
 * `disk.ambiguous`
 */
export function chooseDisk(
  roots: readonly BlockDevice[],
  { asked, real }: { readonly asked: string; readonly real: string },
): BlockDevice {
  const device = deviceAt(roots, real);
  if (device === undefined) {
    const there = availableDisks(roots);
    const what = asked === '' ? 'no install disk is set' : `${asked} is not a disk of this host`;
    const list = there.map(describeDisk).join('; ') || 'none';
    throw diskFailure('disk.missing', `${what}; available: ${list}`, {
      context: { asked, disks: there.map(({ path }) => path).join(' ') },
    });
  }
  const { path, type, serial, wwn } = device;
  const over = multipathOver(device);
  if (over !== undefined) {
    throw diskFailure('disk.multipath-member', `${asked} is one path of ${over.path}`, {
      hint: `use ${over.path} instead`,
      context: { asked, multipath: over.path },
    });
  }
  if (!isWhole(device)) {
    const context = { asked, device: path, type };
    throw diskFailure('disk.not-whole', `${asked} is ${path} of type ${type}`, { context });
  }
  const difference = nameDifference(asked, device);
  if (difference !== undefined) {
    throw diskFailure('disk.not-the-one', `${asked} points to ${path}, but ${difference}`, {
      context: { asked, device: path, serial, wwn },
    });
  }
  const disks = [device, ...rivalsOf(roots, asked, device)];
  if (disks.length > 1) {
    const list = disks.map(describeDisk).join('; ');
    throw diskFailure('disk.ambiguous', `${asked} fits ${disks.length} disks: ${list}`, {
      context: { asked, disks: disks.map((disk) => disk.path).join(' ') },
    });
  }
  return device;
}
