import type { Config } from '../../config/schema.ts';
import { describeRole } from '../../engine/describe.ts';
import { givenHints } from '../../settings/disk-hints.ts';
import { asAgentError } from '../../engine/failures.ts';
import { seconds } from '../../model/duration.ts';
import { chooseRole } from '../../roles/choose.ts';
import { writesDisk } from '../../steps/conditions.ts';
import { architectureArgv } from '../../steps/host-commands.ts';
import { isActive } from '../../engine/condition.ts';
import { hasEfiArgv, parseMenu, readMenuArgv } from '../../steps/disk/set-boot-entry.ts';
import { everyStep } from '../plan-text.ts';
import { listBlockDevices } from '../../steps/disk/block-devices.ts';
import { availableDisks, describeDisk, hintsFor } from '../../steps/disk/hints.ts';
import { linksTo } from '../../steps/disk/target.ts';
import {
  type CheckAnswer,
  type Check,
  type CheckScope,
  failedBy,
  type HostFinding,
  ok,
  warning,
} from './check.ts';

const limit = seconds(15);

/** The oldest version in a supported live image: RHEL CoreOS 4.14 has it. */
export const oldestWriter = '0.15.0';

/** Checks that the host can be reached, and which operating system it runs. */
export const systemCheck: Check = { name: 'system', ask: checkSystem };

/** Checks of the host's hardware and programs. */
export const hostChecks: readonly Check[] = [
  { name: 'programs', ask: checkPrograms },
  { name: 'coreos-installer', ask: checkWriter },
  { name: 'memory', ask: checkMemory },
  { name: 'clock', ask: checkClock },
  { name: 'firmware', ask: checkFirmware },
];

async function checkSystem({ host, signal }: CheckScope): Promise<CheckAnswer> {
  const release = (await host.readText('/etc/os-release', signal)) ?? '';
  const field = (name: string): string =>
    release
      .split('\n')
      .find((line) => line.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', '') ?? '';
  const { stdout } = await host.exec(architectureArgv, { signal, limit });
  const name = `${field('PRETTY_NAME') || field('NAME') || 'unknown system'}, ${stdout}`;
  // RHEL CoreOS has the id rhcos; CentOS Stream and Fedora CoreOS have the variant coreos.
  return /rhcos|coreos/.test(`${field('ID')} ${field('VARIANT_ID')}`)
    ? ok(name)
    : warning(
        `${name}: not CoreOS`,
        'boot a supported live image of CoreOS; see docs/guides/supported.md',
      );
}

/** Prints those arguments that are not programs of the host. */
const missingArgv = (programs: readonly string[]): readonly string[] => [
  ...['sh', '-c', 'for p; do command -v "$p" >/dev/null || echo "$p"; done', 'sh'],
  ...programs,
];

/** The programs that the steps of the role run. */
export function programsOf(config: Config): readonly string[] {
  const steps = everyStep(describeRole(chooseRole(config), config));
  return [...new Set(steps.flatMap(({ programs }) => programs))];
}

async function checkPrograms({ host, config, signal }: CheckScope): Promise<CheckAnswer> {
  const programs = programsOf(config);
  const isUefi = await hasUefi({ host, signal });
  // Each firmware has its own program: bootlist is for Power, and the step that needs it reports
  // when it is missing.
  const wanted = programs.filter(
    (program) => program !== 'bootlist' && (isUefi || program !== 'efibootmgr'),
  );
  const { stdout } = await host.exec(missingArgv(wanted), { signal, limit });
  if (stdout === '') return ok(`all ${wanted.length} that the plan names are there`);
  return {
    state: 'failed',
    says: `missing: ${stdout.split('\n').join(', ')}`,
    hint: 'boot a supported live image; see "bootwright plan" for the steps that run them',
  };
}

async function checkWriter({ host, config, signal }: CheckScope): Promise<CheckAnswer> {
  if (!isActive<Config>(writesDisk, config)) return ok('not needed: no disk is written');
  const { stdout } = await host.exec(['coreos-installer', '--version'], { signal, limit });
  const version = stdout.split(/\s/).find((word) => /^\d+\.\d+\.\d/.test(word));
  const hint = `boot a live image with coreos-installer ${oldestWriter} or newer`;
  if (version === undefined) return warning(`prints no version: ${stdout.slice(0, 60)}`, hint);
  return isOlder(version, oldestWriter)
    ? warning(`${version} is older than ${oldestWriter}`, hint)
    : ok(version);
}

function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => text.split('.').map(Number));
  const index = [0, 1, 2].find((place) => left?.[place] !== right?.[place]);
  return index !== undefined && (left?.[index] ?? 0) < (right?.[index] ?? 0);
}

/**
 * GB of memory that a node needs (OpenShift, installing on bare metal: minimum resource
 * requirements).
 */
const memoryWanted = (config: Config): number => (config.role === 'worker' ? 8 : 16);

async function checkMemory({ host, config, signal }: CheckScope): Promise<CheckAnswer> {
  const text = (await host.readText('/proc/meminfo', signal)) ?? '';
  const kib = Number(/^MemTotal:\s+(\d+) kB/m.exec(text)?.[1] ?? Number.NaN);
  if (Number.isNaN(kib)) return warning('/proc/meminfo names no total', 'look at free -h');
  const gigabytes = (kib * 1024) / 1e9;
  const says = `${gigabytes.toFixed(1)} GB`;
  const wanted = memoryWanted(config);
  // The kernel reserves a part of the memory before it counts.
  return gigabytes >= wanted * 0.95
    ? ok(says)
    : warning(`${says}; a ${config.role} needs ${wanted} GB`, 'give the machine more memory');
}

/** Prints `yes` or `no` (systemd 239 and newer). */
const synchronizedArgv = ['timedatectl', 'show', '--property=NTPSynchronized', '--value'] as const;

/**
 * Each disk with those lines of a configuration file that select it and no other disk of the host.
 */
export async function findDisks({ host, signal }: CheckScope): Promise<readonly HostFinding[]> {
  try {
    const roots = await listBlockDevices(host, signal);
    const hintsOf = hintsFor(roots);
    const found: HostFinding[] = [];
    for (const disk of availableDisks(roots)) {
      const links = { folder: '/dev/disk/by-path', path: `/dev/${disk.kname}` };
      const own = hintsOf(disk);
      // Read each link in the folder, to find the links to this disk.
      const [deviceName] = own === undefined ? await linksTo(host, links, signal) : [];
      const hints = own ?? (deviceName === undefined ? {} : { deviceName });
      const known = givenHints(hints).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
      const line = known.length === 0 ? `device: ${disk.path}` : `hints: {${known.join(', ')}}`;
      found.push({ check: 'disk', ...ok(`${describeDisk(disk)}: disk: {${line}}`) });
    }
    const none = warning('none', 'look at lsblk and at the kernel log (journalctl -k)');
    return found.length === 0 ? [{ check: 'disk', ...none }] : found;
  } catch (thrown) {
    signal.throwIfAborted();
    return [{ check: 'disk', ...failedBy(thrown) }];
  }
}

async function checkClock({ host, signal }: CheckScope): Promise<CheckAnswer> {
  const hint =
    "check chronyd and its servers: with a wrong clock no certificate is valid, also not the cluster's";
  try {
    const { stdout } = await host.exec(synchronizedArgv, { signal, limit });
    return stdout === 'yes' ? ok('synchronized') : warning('not synchronized', hint);
  } catch (thrown) {
    signal.throwIfAborted();
    return warning(`not known: ${asAgentError(thrown).message}`, hint);
  }
}

const hasUefi = async ({ host, signal }: Pick<CheckScope, 'host' | 'signal'>): Promise<boolean> =>
  (await host.exec(hasEfiArgv, { signal, limit, accept: [0, 1] })).exitCode === 0;

async function checkFirmware(scope: CheckScope): Promise<CheckAnswer> {
  const { host, signal } = scope;
  if (!(await hasUefi(scope))) return ok('BIOS: the firmware decides the boot order');
  const { stdout } = await host.exec(readMenuArgv, { signal, limit });
  const { order, entries } = parseMenu(stdout);
  const first = entries.find(({ number }) => number === order[0]);
  return ok(`UEFI, ${entries.length} boot entries, first ${first?.label ?? 'none'}`);
}
