import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { writeBundle } from '../../adapters/bundle-file.ts';
import { localHost } from '../../adapters/host/local-host.ts';
import { momentOf } from '../../config/complete.ts';
import type { Environment } from '../../config/environment.ts';
import { flagFailure } from '../../config/failures.ts';
import { asAgentError } from '../../engine/failures.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { jsonIn } from '../../lib/json.ts';
import { readArchive } from '../../lib/archive.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { minutes } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';
import { BundleManifest } from '../documents.ts';
import { cliFailure } from '../failures.ts';
import { print, shellQuoted, shellWord } from '../messages.ts';
import { stopSignal } from '../stop-signal.ts';
import { printWaiting } from '../waiting.ts';
import { manifestFile } from './read.ts';

/** How hosts are reached. */
export interface SshOptions {
  /** File with the private key; those of the user unless given. */
  readonly sshKey?: string;
  /** File with the keys of the hosts; not checked unless given. */
  readonly knownHosts?: string;
  /** Image that is run on each host; the newest of Bootwright there unless given. */
  readonly image?: string;
  /** Directory of the bundles; the current one unless given. */
  readonly output?: string;
  readonly environment: Environment;
}

const atOnce = 8;

/** Of one host: its own limit, and what ssh needs before and after it. */
const limit = minutes(2);

/** One host, and the machine that reaches it. */
interface RemoteHost {
  readonly machine: Pick<Host, 'exec'>;
  readonly host: string;
  readonly signal: AbortSignal;
}

/** What became of one host. */
type HostOutcome =
  | { readonly host: string; readonly path: string; readonly says: string }
  | { readonly host: string; readonly error: AgentError };

/**
 * Collects the logs of hosts by the ssh of a machine, this one unless given, eight at once, into one file for each, and prints
 * what became of each. Nothing is written on the hosts. Resolves with 0 where all were collected, or with the code of a signal.
 * @throws AgentError `cli.logs-not-collected`, `cli.no-ssh`, `cli.bad-flag`, `cli.bundle-not-written`
 */
export async function collectFromHosts(
  names: string,
  options: SshOptions,
  machine: Pick<Host, 'exec'> = localHost(),
): Promise<number> {
  const hosts = hostsIn(names);
  const { sshKey, knownHosts, output = '.' } = options;
  for (const [flag, file] of Object.entries({ '--ssh-key': sshKey, '--known-hosts': knownHosts }))
    if (file !== undefined)
      await access(file, constants.R_OK).catch((cause: unknown) => {
        throw flagFailure('cli.bad-flag', `${flag}: ${file} cannot be read`, { cause });
      });
  await access(output, constants.W_OK).catch((cause: unknown) => {
    throw cliFailure('cli.bundle-not-written', `${output} cannot be written to`, { cause });
  });
  using stop = stopSignal();
  const missing = new Set(hosts);
  const inTurn = inTurns(atOnce);
  const outcomes = await printWaiting(
    () => [...missing].join(', '),
    () =>
      Promise.all(
        hosts.map((host) =>
          inTurn(async () => {
            const outcome = await collectFrom(
              { machine, host, signal: stop.signal },
              { ...options, output },
            );
            missing.delete(host);
            return outcome;
          }),
        ),
      ),
  );
  if (stop.signal.aborted) return stop.endCode();
  report(outcomes);
  return 0;
}

/**
 * The hosts that a list names.
 * @throws AgentError `cli.bad-flag`
 */
export function hostsIn(names: string): readonly string[] {
  const hosts = [...new Set(names.split(',').map((name) => name.trim()))];
  const wrong = hosts.find((host) => !/^[\w:][\w.:%-]*$/.test(host));
  if (wrong === undefined) return hosts;
  throw flagFailure('cli.bad-flag', `--hosts: ${JSON.stringify(wrong)} is no name of a host`, {
    hint: 'write names or addresses with commas between them, without a user: --hosts m1,192.0.2.7',
  });
}

async function collectFrom(
  { machine, host, signal }: RemoteHost,
  options: SshOptions & { readonly output: string },
): Promise<HostOutcome> {
  try {
    signal.throwIfAborted();
    const { SSH_AUTH_SOCK: agent } = options.environment;
    const env = agent === undefined ? {} : { SSH_AUTH_SOCK: agent };
    const { stdout, stderr } = await machine.exec(sshArgv(host, options), {
      ...{ signal, limit, env },
    });
    const bytes = Buffer.from(stdout, 'base64');
    const { role, state = '' } = await manifestIn(bytes).catch((cause: unknown) => {
      throw notCollected(stderr, 'it sent no bundle of logs', cause);
    });
    const name = `logs-${host.replaceAll(/[:%]/g, '-')}-${momentOf(Date.now())}.tar.gz`;
    const path = join(options.output, name);
    await writeBundle(path, bytes);
    return { host, path, says: plainLine(`${role}, ${state}`, 200) };
  } catch (thrown) {
    const error = asAgentError(thrown);
    if (error.code !== 'command.failed') return { host, error };
    const { stderr = '' } = error.context;
    return { host, error: notCollected(String(stderr), error.message, thrown) };
  }
}

/** Lines of what a host, or ssh, says in the end. */
const linesShown = 3;

const notCollected = (said: string, otherwise: string, cause: unknown): AgentError => {
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const text = plainLine(lines.slice(-linesShown).join('; '), 400);
  return cliFailure('cli.logs-not-collected', text === '' ? otherwise : text, { cause });
};

/** What a host has sent may come from anybody: it is read within limits, and only a bundle is kept. */
async function manifestIn(bytes: Uint8Array): Promise<BundleManifest> {
  const files = await readArchive(bytes);
  return BundleManifest.parse(jsonIn(files.get(manifestFile) ?? ''));
}

/**
 * The words that run `logs collect` on a host. Nobody is asked anything, nothing of this machine is forwarded, and a host that does
 * not answer is given up after some 15 seconds.
 */
export function sshArgv(
  host: string,
  { sshKey, knownHosts, image = '' }: Pick<SshOptions, 'sshKey' | 'knownHosts' | 'image'>,
): readonly string[] {
  const known =
    knownHosts === undefined
      ? {
          StrictHostKeyChecking: 'no',
          UserKnownHostsFile: '/dev/null',
          GlobalKnownHostsFile: '/dev/null',
        }
      : { StrictHostKeyChecking: 'yes', UserKnownHostsFile: `"${knownHosts}"` };
  const settings = {
    ...{ BatchMode: 'yes', LogLevel: 'ERROR', RequestTTY: 'no' },
    ...{ ConnectTimeout: 10, ServerAliveInterval: 5, ServerAliveCountMax: 3 },
    ...{ ForwardAgent: 'no', ForwardX11: 'no', ClearAllForwardings: 'yes' },
    ...{ ControlMaster: 'no', ControlPath: 'none', ...known },
    ...(sshKey === undefined ? {} : { IdentitiesOnly: 'yes' }),
  };
  return [
    'ssh',
    ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ...(sshKey === undefined ? [] : ['-i', sshKey]),
    ...['-l', 'core', '--', host, `sudo -n sh -c ${shellQuoted(scriptFor(image))}`],
  ];
}

/**
 * What runs on the host, where podman, coreutils and the image of the agent are. The container is one of its own: that of the agent may
 * hang. It sees the files of the agent read-only, its output is in no log of podman, and it ends by itself when ssh is gone.
 */
const scriptFor = (image: string): string =>
  `
image=${shellQuoted(image)}
label=org.opencontainers.image.title=bootwright
[ -n "$image" ] || image=$(timeout 20 podman images --quiet --filter label=$label | head -n 1)
if [ -z "$image" ]; then echo 'podman has no image of Bootwright on this host: give --image' >&2; exit 1; fi
set --
for folder in /opt /var/log /etc/bootwright; do [ -d $folder ] && set -- "$@" -v $folder:$folder:ro; done
timeout --kill-after=5 80 podman run --rm --pull=never --privileged --pid=host --net=host --log-driver=none "$@" \\
  "$image" logs collect --output - | base64
`.trim();

/** @throws AgentError `cli.logs-not-collected`, `cli.no-ssh` */
function report(outcomes: readonly HostOutcome[]): void {
  const failed = outcomes.flatMap((one) => ('error' in one ? [one] : []));
  const cause = failed[0]?.error;
  if (cause?.code === 'command.not-found')
    throw cliFailure('cli.no-ssh', 'ssh is not on this machine', { cause });
  const width = Math.max(...outcomes.map(({ host }) => host.length));
  for (const one of outcomes) {
    const became =
      'error' in one ? `not collected: ${one.error.message}` : `${one.path}  ${one.says}`;
    print(`${one.host.padEnd(width)}  ${plainLine(became)}\n`);
  }
  const first = outcomes.find((one) => 'path' in one);
  if (first !== undefined) print(`next: bootwright logs read ${shellWord(first.path)}\n`);
  if (cause === undefined) return;
  const names = failed.map(({ host }) => host).join(', ');
  const what = `no logs of ${failed.length} of ${outcomes.length} hosts: ${names}`;
  throw cliFailure('cli.logs-not-collected', what, { cause });
}
