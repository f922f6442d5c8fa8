import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Fault } from '../../mocks/http/fault.ts';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed, hostSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { installArguments } from '../../mocks/lab/agent.ts';
import { HostSpec } from '../../mocks/lab/scenario.ts';
import type { ContainerStore } from '../support/container-store.ts';

/** Exit code and output of a script. */
interface ScriptEnd {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const machine = new URL('machine.sh', import.meta.url).pathname;

const limitMillis = 600_000;

/** The command that runs a script, its last argument, on a machine with the images of a folder. */
export const ownMachine = (images: string): readonly [string, ...string[]] => [
  ...(['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'] as const),
  ...['sh', machine, images],
];

/**
 * Runs a bash script with its own process 1, /run, /opt and /var/log, so that `--pid=host` and
 * `nsenter --target 1` reach these and never the machine that the test runs on. podman finds the
 * images of the store.
 */
export async function onOwnMachine(
  store: ContainerStore,
  script: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ScriptEnd> {
  const [program, ...words] = ownMachine(store.images);
  const child = spawn(program, [...words, script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: '/root', ...store.environment, ...environment },
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMillis);
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  clearTimeout(limit);
  const [stdout, stderr] = await output;
  return { exitCode, stdout, stderr };
}

/** A service that served one host its install command. */
interface ServiceLine extends AsyncDisposable {
  readonly inventory: InventoryServer;
  readonly hostId: string;
  readonly token: string;
  /** The whole command, for a shell. */
  readonly line: string;
}

/**
 * Starts the service, which serves the command for a master whose disk is missing.
 * @param shown the command line of a page, completed with the service's values
 */
export async function commandForLostDisk(
  shown: string,
  faults: readonly Fault[] = [],
): Promise<ServiceLine> {
  const issuer = tokenIssuer();
  const cluster = clusterSeed();
  const ids = { clusterId: cluster.id, infraEnvId: crypto.randomUUID() };
  const record = hostSeed({ ...ids, hostname: 'm1', role: 'master' });
  const inventory = await startInventory({ cluster, hosts: [record], auth: issuer.auth, faults });
  const words = installArguments({
    host: HostSpec.parse({ name: 'm1', role: 'master' }),
    hostId: record.id,
    infraEnvId: record.infraEnvId,
    cluster,
    serviceUrl: inventory.url,
    bootDevice: '/dev/disk/by-id/wwn-0x5000c500a1b2c3d4',
  });
  return {
    inventory,
    hostId: record.id,
    token: issuer.issue({ infra_env_id: record.infraEnvId }),
    line: filledIn(shown, words),
    [Symbol.asyncDispose]: inventory.close,
  };
}

/**
 * A command line of a page with the arguments of the service: each `…` after a flag is its value,
 * and the last one is all flags that the page does not name.
 * @throws RangeError for a flag that the service does not set, and for a flag without a place
 */
function filledIn(shown: string, words: readonly string[]): string {
  const flags = words.join('\n').split(/\n(?=--)/);
  const rest = new Map(
    flags.map((text) => {
      const [flag = '', ...values] = text.split('\n');
      return [flag, values] as const;
    }),
  );
  const named = shown.replaceAll(/(--[\w-]+) (\S+)/g, (whole, flag: string, value: string) => {
    const own = rest.get(flag)?.map(quoted).join(' ');
    rest.delete(flag);
    if (!value.endsWith('…')) return whole;
    if (own === undefined) throw new RangeError(`the service gives no ${flag}`);
    return `${flag} ${own}`;
  });
  const others = [...rest].flatMap(([flag, values]) => [flag, ...values].map(quoted));
  const line = named.replace(/ …$/, () => ` ${others.join(' ')}`);
  if (line === named && others.length > 0)
    throw new RangeError(`the page has no place for ${others.join(' ')}`);
  return line;
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
