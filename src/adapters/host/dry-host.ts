import type { Host } from '../../ports/host.ts';

/**
 * A host for load tests of the inventory service: many agents on one machine, none of which changes
 * it. Files are written for real.
 */
export function dryHost(host: Host, world: DryWorld): Host {
  return {
    ...host,
    exec: (argv, options) => {
      const decision = decideDry(argv, world);
      if (decision.kind === 'run') return host.exec(decision.argv, options);
      options.signal.throwIfAborted();
      const { exitCode, stdout } = decision;
      return Promise.resolve({ exitCode, stdout, stderr: '', duration: 0 });
    },
    realPath: (path, signal) =>
      path === world.device ? Promise.resolve(path) : host.realPath(path, signal),
    // Each agent is a host of its own, though all share one machine.
    lock: () => Promise.resolve({ release: () => Promise.resolve() }),
  };
}

/** What a dry host does with a command: runs it, runs another in its place, or answers it. */
type DryDecision =
  | { readonly kind: 'run'; readonly argv: readonly string[] }
  | { readonly kind: 'answer'; readonly stdout: string; readonly exitCode: number };

/** What decides it. */
export interface DryWorld {
  /** The install disk as it was asked for; it need not exist. */
  readonly device: string;
  /** File that is touched instead of a reboot. */
  readonly rebootMarker: string;
}

/** Programs that would change the host, or look for what a load test has not. */
const needless: ReadonlySet<string> = new Set([
  ...['dd', 'wipefs', 'sgdisk', 'blkdiscard', 'nvme', 'udevadm', 'partprobe'],
  ...['vgs', 'vgchange', 'vgremove', 'pvs', 'pvremove', 'dmsetup', 'mdadm'],
  ...['swapoff', 'umount', 'mount', 'find', 'bootlist', 'efibootmgr'],
]);

/** Verbs of systemctl that change something; its questions are asked for real. */
const changing: ReadonlySet<string> = new Set(['start', 'stop', 'restart', 'daemon-reload']);

const run = (...argv: readonly string[]): DryDecision => ({ kind: 'run', argv });
const answer = (stdout: string, exitCode = 0): DryDecision => ({
  kind: 'answer',
  stdout,
  exitCode,
});

/** Firmware of the machine that the load test runs on, which is none of the agent's business. */
const firmware: ReadonlySet<string> = new Set(['/usr/sbin/bootlist', '/sys/firmware/efi']);

/**
 * What a load test of the inventory service does with each command (assisted-installer, dry run):
 * disks, firmware and units stay as they are, the writer is `dry-installer`, and the reboot is a
 * file that somebody watches for. Everything else runs.
 */
export function decideDry(argv: readonly string[], world: DryWorld): DryDecision {
  const [program = '', ...words] = argv;
  if (program === 'coreos-installer') return run('dry-installer', ...words);
  if (program === 'shutdown') return run('touch', world.rebootMarker);
  if (program === 'lsblk') return answer(oneDisk(world.device));
  if (program === 'systemctl' && changing.has(words[0] ?? '')) return answer('');
  if (program === 'test' && firmware.has(words.at(-1) ?? '')) return answer('', 1);
  return needless.has(program) ? answer('') : run(...argv);
}

/** A disk that is empty and large enough, under the name that was asked for. */
function oneDisk(device: string): string {
  const name = device.replace(/^\/dev\//, '');
  const disk = {
    name,
    kname: name,
    'maj:min': '0:0',
    type: 'disk',
    size: 2 ** 40,
    'log-sec': 512,
    ro: false,
  };
  return JSON.stringify({ blockdevices: [disk] });
}
