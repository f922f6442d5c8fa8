import type { MutantsByFile } from './mutant.ts';

/** Faults of what chooses, guards and prepares a disk. */
export const diskMutants: MutantsByFile = {
  'src/steps/disk/target.ts': [
    {
      means: 'a DASD is another disk once the writer has labelled it',
      from: "name.startsWith('dasd') || ",
      to: '',
    },
    {
      means: 'a disk with the serial number of another is written',
      from: 'if (!isAlike(hardwareSerial(device), hardwareSerial(target)))',
      to: 'if (device === undefined)',
    },
    {
      means: 'a disk without a serial number is written at another address than the hints say',
      from: 'if (other !== undefined) return',
      to: 'if (device === undefined) return',
    },
    {
      means: 'a disk with the WWN of another is written',
      from: 'if (!isAlike(wwn, target.wwn))',
      to: 'if (device === undefined)',
    },
    {
      means: 'a disk of another size is written',
      from: 'if (!isAsLarge(device, target))',
      to: 'if (device === undefined)',
    },
    {
      means: 'a disk that is no longer where its names lead is written',
      from: 'if (!isKnownWithout(device, other, target)) return',
      to: 'if (device === undefined) return',
    },
    {
      means: 'a disk with a shared WWN and no serial number is believed to be the one',
      from: "if (serial === '' || hardwareSerial(target) === '' || other.serial === '') return false;",
      to: '',
    },
    {
      means: 'zeros tell one disk from another',
      from: '(hasWwn(device) || device.wwn !== other.wwn)',
      to: 'device !== undefined',
    },
    {
      means: 'the name that was asked for may lead anywhere',
      from: 'new Set([asked, ...byId])',
      to: 'byId',
    },
    {
      means: 'a disk with the WWN that was asked for is no candidate',
      from: "if (wwn !== undefined) return other.wwn !== '' && ",
      to: 'if (wwn !== undefined) return device.wwn === undefined && ',
    },
    {
      means: 'a multipath device is refused for a path of its own',
      from: "device.type === 'mpath' && device.serial === other.serial",
      to: 'device === other',
    },
    {
      means: 'a command runs on a disk that nobody looked at again',
      from: '  await confirmTarget(host, target, { signal: options.signal });\n',
      to: '',
    },
    {
      means: 'a name that says what is stored tells a disk from others',
      from: '!namesContent.test(link.slice(byIdFolder.length + 1))',
      to: 'true',
    },
  ],
  'src/steps/disk/hints.ts': [
    {
      means: 'paths are offered in place of the multipath device',
      from: 'multipathOver(disk) ?? disk',
      to: 'disk',
    },
    {
      means: 'the first of the disks that fit is taken',
      from: 'fits === undefined || others.length > 0',
      to: 'fits === undefined',
    },
    {
      means: 'hints are enough where the device of the configuration is another',
      from: 'isNamed(disk, real) ? [] : [`not ${asked}`]',
      to: 'isNamed(disk, real) ? [] : []',
    },
  ],
  'src/steps/image/choose.ts': [
    {
      means: 'coreos-installer refuses the digest of the Ignition when the disk is lost',
      from: 'if (hash !== undefined && own === undefined)',
      to: 'if (hash === null)',
    },
    {
      means: 'Ignition that wipes what is kept is found after the first loss',
      from: 'if (disk?.kept !== undefined) await refuseWipes(scope, disk, ignition);',
      to: '',
    },
    {
      means: 'the Ignition that coreos-installer is given in place of that of the host is not read',
      from: 'await host.readText(own ?? path, signal)',
      to: 'await host.readText(path, signal)',
    },
    {
      means: 'keyfiles that changed since the image was chosen are not seen before the first loss',
      from: 'await checkKeyfiles(scope);\n    if (config',
      to: 'if (config',
    },
    {
      means: 'nmstate is read for the first time when the disk is about to be lost',
      from: "if (scope.config.network.nmstate !== '') await readNmstate(scope);",
      to: '',
    },
  ],
  'src/steps/image/network.ts': [
    {
      means: 'keyfiles that nmstatectl made in an earlier run stay beside those of this one',
      from: 'if (!files.has(name))',
      to: 'if (name === "")',
    },
    {
      means: 'a password that nmstatectl shows in its error reaches the log',
      from: 'hide(secret);',
      to: 'void secret;',
    },
  ],
  'src/steps/disk/resolve.ts': [
    {
      means: 'what the hints say is not known when the disk is written',
      from: 'byHints ? { hints } : {}',
      to: '{}',
    },
    {
      means: 'another disk is taken once the first has been cleaned',
      from: "['disk/format-extra', 'disk/clean', 'image/write']",
      to: "'image/write'",
    },
    {
      means: 'another disk is taken once an additional one has been formatted',
      from: "'disk/format-extra', ",
      to: '',
    },
    {
      means: 'a name that fits two disks is believed',
      from: ' ??\n    ambiguous(device, asked, rivalsOf(roots, asked, device))',
      to: '',
    },
    {
      means: 'one path of a multipath device is written',
      from: 'onePath(device, asked) ??\n    ',
      to: '',
    },
    {
      means: 'a partition is written as if it were a disk',
      from: 'notWhole(device, asked) ??\n    ',
      to: '',
    },
  ],
  'src/steps/disk/block-devices.ts': [
    {
      means: 'a disk of which a loop device has a partition is cleaned, and cannot be written',
      from: '(mounted.includes(backing) && !isMounted)',
      to: '!isMounted',
    },
    {
      means: 'what is mounted by a loop device over the disk is lost',
      from: ', ...(loops.get(device.kname) ?? [])',
      to: '',
    },
    {
      means: 'nothing tells a multipath device from others',
      from: "of.type === 'mpath' ? (under ?? of) : of",
      to: 'of',
    },
  ],
  'src/steps/disk/guards.ts': [
    {
      means: 'a mounted partition that is to be kept is found after the first loss',
      from: 'holdersIn(keepsPartitions ? partitionsOf(disk) : [disk])',
      to: 'holdersIn(keepsPartitions ? [] : [disk])',
    },
    {
      means: 'an appliance that runs from windows over its install disk is refused',
      from: 'keepsPartitions ? partitionsOf(disk) : [disk]',
      to: '[disk]',
    },
    {
      means: 'a disk that is in use is erased',
      from: '  if (problem !== undefined) throw problem;\n',
      to: '',
    },
    {
      means: 'the install disk is formatted as a further one',
      from: "if (isTarget) return refused('it is the install disk');",
      to: '',
    },
    {
      means: 'a further disk is formatted by a name that fits two',
      from: 'if (rivals.length > 0)',
      to: 'if (rivals.length > 9)',
    },
    {
      means: 'a further disk that is mounted is formatted',
      from: "['live', 'mount', 'swap'].includes(kind)",
      to: "['live'].includes(kind)",
    },
    {
      means: 'the half of a boot mirror is left on another disk',
      from: "return isHalf ? label.slice('any:md-'.length) : undefined;",
      to: 'return isHalf ? undefined : undefined;',
    },
    {
      means: 'an array is taken down with a disk of its own, and the other half is not seen',
      from: 'disksUnder(roots, device).filter(\n      // A loop',
      to: 'disksUnder(roots, device).slice(0, 1).filter(\n      // A loop',
    },
    {
      means: 'a clone of the install disk counts as a second path of it',
      from: 'twins.includes(kname) && own.has(device.partUuid)',
      to: 'twins.includes(kname)',
    },
    {
      means: 'what is in an old volume stops an installation',
      from: 'if (label === undefined || isVolume(device)) return [];',
      to: 'if (label === undefined) return [];',
    },
    {
      means: 'the disk of the running system is written',
      from: '(live === undefined ? undefined : isLive(disk, live)) ??\n    physicalProblem(state) ??\n    (harmful.length === 0 ? undefined : isBusy(disk, harmful.map(renderHolder)))',
      to: 'physicalProblem(state)',
    },
  ],
  'src/steps/disk/check.ts': [
    {
      means: 'partitions that coreos-installer does not keep are found after the first loss',
      from: '    requireKeepable(target);\n',
      to: '',
    },
    {
      means: 'a disk passes that the kernel gives to nobody else',
      from: 'await waitUntilAlone(scope, target);',
      to: '',
    },
    {
      means: 'a second boot label is not looked for',
      from: 'if (systems.length > 0) throw',
      to: 'if (systems.length > 99) throw',
    },
  ],
  'src/steps/disk/clean.ts': [
    {
      means: 'volume groups go while something that lsblk does not show has the disk',
      from: 'await waitUntilAlone(scope, disk);\n    await removeVolumeGroups',
      to: 'await removeVolumeGroups',
    },
    {
      means: 'signatures go while something that lsblk does not show has the disk',
      from: 'await waitUntilAlone(scope, disk);\n    await wipe(',
      to: 'await wipe(',
    },
    {
      means: 'the disk is not looked at before each command of the cleanup',
      from: '    await requireFree({ host, signal }, target, true);\n',
      to: '',
    },
    {
      means: 'a disk that was mounted since is cleaned',
      from: 'await requireFree({ host, signal }, target, true);',
      to: 'await readTarget(host, target, signal);',
    },
  ],
  'src/steps/disk/erase.ts': [
    {
      means: 'a disk is erased that something was built on since the cleanup',
      from: 'await requireFree(scope, target, false);',
      to: 'await requireFree(scope, target, true);',
    },
    {
      means: 'another drive tells whether this one has erased itself',
      from: '(await execOnTarget({ host, target }, argv, { signal, limit: minutes(1) })).stdout',
      to: '(await host.exec(argv, { signal, limit: minutes(1) })).stdout',
    },
    {
      means: 'an erased disk is taken for the one that has its name afterwards',
      from: "await execOnTarget({ host, target: disk }, ['blockdev', '--rereadpt', disk.path], {",
      to: "await host.exec(['blockdev', '--rereadpt', disk.path], {",
    },
    {
      means: 'a disk is erased that nobody named',
      from: 'if (confirm !== name) throw',
      to: 'if (confirm === "") throw',
    },
    {
      means: 'a disk is named by the serial number that another has too',
      from: "if (disk.serial !== '' && !others.some(({ serial }) => serial === disk.serial))",
      to: "if (disk.serial !== '')",
    },
    {
      means: 'partitions that the settings keep are erased',
      from: 'if ((await readWriterSetup(scope)).keepsPartitions) {',
      to: 'if (confirm === "") {',
    },
    {
      means: 'a disk is not looked at right before a command that erases',
      from: '  await requireFree(scope, target, false);\n',
      to: '',
    },
    {
      means: 'what could not be removed is passed over',
      from: "note('warn', problem);",
      to: 'void problem;',
    },
    {
      means: 'a disk that says no size counts as erased',
      from: 'if (disk.sizeBytes === 0)',
      to: 'if (isUnformatted(disk))',
    },
    {
      means: 'a disk is erased that the kernel gives to nobody else',
      from: 'await waitUntilAlone(scope, target);\n  await requireFree',
      to: 'await requireFree',
    },
    {
      means: 'a drive with another namespace is sanitized',
      from: 'isAlone && hasBit(sanicap, 1)',
      to: 'hasBit(sanicap, 1)',
    },
    {
      means: 'a format reaches another namespace',
      from: '(isAlone || !formatsAll)',
      to: 'fna >= 0',
    },
    {
      means: 'a drive that failed to sanitize itself counts as erased',
      from: 'if (isDone) return',
      to: 'if (true) return',
    },
    {
      means: 'a drive that still sanitizes itself counts as erased',
      from: 'if (isRunning) return { status: `${percent} % is erased` };',
      to: 'if (isRunning) return { done: true };',
    },
    {
      means: 'signatures that are on the disk afterwards are passed over',
      from: "if (stdout.trim() !== '') throw",
      to: "if (stdout.trim() === '?') throw",
    },
    {
      means: 'the last part of a disk is not erased',
      from: 'offset < sizeBytes;',
      to: 'offset + chunkBytes < sizeBytes;',
    },
  ],
  'src/steps/disk/set-boot-entry.ts': [
    {
      means: 'the firmware has an entry for a partition that Ignition makes again',
      from: '!esp.isWiped && ',
      to: '',
    },
    {
      means: 'the other disks of a boot mirror are not looked at',
      from: 'if (ignition !== undefined) {',
      to: 'if (disk === undefined && ignition !== undefined) {',
    },
  ],
  'src/steps/disk/format-extra.ts': [
    {
      means: 'a further disk is formatted that something has which lsblk does not show',
      from: 'await waitUntilAlone(scope, identity);',
      to: '',
    },
    {
      means: 'another disk than was found is formatted',
      from: 'if (!(error instanceof AgentError) || isOtherDisk(error)) throw error;',
      to: 'if (!(error instanceof AgentError)) throw error;',
    },
    {
      means: 'a disk that could not be formatted stops the first boot',
      from: 'if (systems.length > 0) throw',
      to: 'if (systems.length > 99) throw',
    },
    {
      means: 'a further disk is not looked at before each command',
      from: 'await execOnTarget({ host, target: identity }, argv, ',
      to: 'await host.exec(argv, ',
    },
  ],
  'src/steps/disk/writer-args.ts': [
    {
      means: 'a key that is not known here is not minded',
      from: 'unknown: [...unknown, ...others]',
      to: 'unknown',
    },
    {
      means: 'one saved partition that is there stands for all',
      from: "value.split(',').map((wanted) => ({",
      to: "value.split(',').slice(0, 1).map((wanted) => ({",
    },
  ],
  'src/steps/disk/wipe.ts': [
    {
      means: 'signatures are removed from a disk that took the name once the table was lost',
      from: 'if (isStopped) return;\n  await confirm();',
      to: 'if (isStopped) return;',
    },
    {
      means: 'a kept partition that is labelled boot is wiped when the write fails',
      from: ' && !kept.some((one) => one.partUuid === partUuid)',
      to: '',
    },
  ],
  'src/steps/disk/kept.ts': [
    {
      means:
        'a kept partition that was formatted since Ignition was checked is not seen before the write',
      from: "now.content === '' || (now.content",
      to: 'now.number > 0 || (now.content',
    },
    {
      means:
        'a kept file system that was labelled boot since the check is not seen before the write',
      from: ' && now.contentLabel === one.contentLabel',
      to: '',
    },
    {
      means: 'a kept partition that udev reads again is taken for a changed one',
      from: "(now.content === '' || (now.content",
      to: '((now.content',
    },
    {
      means: 'a GPT that only coreos-installer reads is taken for no table to keep anything of',
      from: 'type === protectiveType',
      to: "type === ''",
    },
    {
      means: 'a partition of a higher number than the new table has is found after the first loss',
      from: 'if (last > entries)',
      to: 'if (last > 2 * entries)',
    },
    {
      means: 'kept partitions with one GUID are found after the first loss',
      from: 'if (twin !== undefined)',
      to: 'if (bytes === 0)',
    },
    {
      means: 'a kept partition over the second table is found after the first loss',
      from: ' - entriesBytes - sectorBytes',
      to: '',
    },
    {
      means: 'numbers of an MBR are found not to be kept after the first loss',
      from: "if (table.label === 'dos' && saved.some",
      to: "if (table.label === 'x' && saved.some",
    },
    {
      means: 'partitions of a DASD are found not to be kept after the first loss',
      from: "if (target.name.startsWith('dasd'))",
      to: "if (target.name === '')",
    },
    {
      means: 'a kept partition at which the first boot stops is found after the first loss',
      from: "if (mismatches !== '')",
      to: "if (mismatches === 'x')",
    },
    {
      means: 'a kept file system of another format stops the first boot',
      from: '  if (format !== content) return `format ${content}`;\n',
      to: '',
    },
    {
      means: 'a kept LUKS volume that Ignition cannot open again stops the first boot',
      from: 'isBound(clevis) || !keyFile',
      to: 'isBound(clevis) && !keyFile',
    },
    {
      means: 'a partition that Ignition makes over a kept one is found after the first loss',
      from: ' || isOver(partition, one)',
      to: '',
    },
    {
      means: 'a partition table that keeps data is wiped at the first boot',
      from: '.filter(({ wipeTable }) => wipeTable === true)',
      to: '.filter(() => false)',
    },
    {
      means: 'an entry that keeps data is wiped at the first boot',
      from: '.filter(({ wipePartitionEntry }) => wipePartitionEntry === true)',
      to: '.filter(() => false)',
    },
    {
      means: 'an entry that keeps data is not known by its label',
      from: 'k.numbers.includes(one.number) || k.label === one.label',
      to: 'k.numbers.includes(one.number)',
    },
    {
      means: 'a kept file system is made again at the first boot',
      from: '.filter(({ wipeFilesystem }) => wipeFilesystem === true)',
      to: '.filter(() => false)',
    },
    {
      means: 'a kept volume is made again at the first boot',
      from: '.filter(({ wipeVolume }) => wipeVolume === true)',
      to: '.filter(() => false)',
    },
    {
      means: 'a link to what is kept hides it',
      from: "names.includes(device) || names.includes((await host.realPath(device, signal)) ?? '')",
      to: 'Promise.resolve(names.includes(device))',
    },
    {
      means: 'what is kept is known by its link alone',
      from: 'names.includes(device) || names.includes((await',
      to: 'names.includes((await',
    },
    {
      means: 'a kept partition is not known by its number after the write',
      from: 'numbers: [one.number, last]',
      to: 'numbers: [one.number]',
    },
    {
      means: 'a partition without a link yet is not known by that of its disk',
      from: ' || names.includes(await laterName(device))',
      to: '',
    },
    {
      means: 'a config inside the Ignition is not read',
      from: '[storage, ...inside.flatMap((one) => storagesIn(decodeResource(one)))]',
      to: '[storage]',
    },
    {
      means: 'the disk that CoreOS starts from is not the install disk',
      from: '[path, asked, ...byId, bootDisk]',
      to: '[path, asked, ...byId]',
    },
    {
      means: 'Ignition of another disk is refused',
      from: 'if ((await isOneOf(names, device)) || names.includes(await laterName(device)))',
      to: '',
    },
    {
      means: 'a partition that the image reaches over is kept',
      from: 'first.startBytes < shortestImageBytes',
      to: 'first.startBytes < 0',
    },
    {
      means: 'a kept partition that has moved is written over',
      from: '  now.startBytes === one.startBytes &&\n',
      to: '',
    },
    {
      means: 'what a number or label fits after a write is kept in place of the data',
      from: 'if (added.length === 0 && isWhole) return args;',
      to: 'if (isWhole) return args;',
    },
  ],
};
