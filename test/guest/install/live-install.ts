import { readFileSync } from 'node:fs';

import { installArguments, planOfAgent, settingVariable } from '../../../mocks/lab/agent.ts';
import { HostSpec } from '../../../mocks/lab/scenario.ts';
import type { Plan } from '../../../src/engine/describe.ts';
import type { Guest } from '../rig/guest.ts';
import { type Job, startLiveGuest } from '../rig/live-guest.ts';
import type { Firmware, GuestDisk } from '../rig/qemu-argv.ts';
import { type Outside, seenByGuests } from './outside.ts';

/** One run of the agent, as a service asks for it. */
export interface AgentRun {
  readonly outside: Pick<Outside, 'cluster' | 'host' | 'token' | 'inventory'>;
  /** Settings of the agent by dotted name, which the service knows nothing of. */
  readonly settings: Readonly<Record<string, string>>;
  /** Words of the command besides those that every host gets. */
  readonly words?: readonly string[];
  /** Arguments for coreos-installer; default: a kernel argument. */
  readonly installerArgs?: readonly string[];
}

/** A live guest in which agents run, one after the other; two at most. */
export interface LiveInstall {
  readonly firmware: Firmware;
  /** Firmware variables that outlive the guest. */
  readonly variables?: string;
  /** The disk that is installed to. */
  readonly target: string;
  /** The disk that createAgentDisk made. */
  readonly agentDisk: string;
  readonly moreDisks?: readonly GuestDisk[];
  /** Bash, run in the guest before the agents. */
  readonly before?: string;
  readonly runs: readonly AgentRun[];
}

const script = readFileSync(new URL('job.sh', import.meta.url), 'utf8');

/**
 * Starts a live guest that installs. Its job prints `ALL-SAID` last, and the guest reboots when an
 * agent requests it.
 */
export function startLiveInstall(
  install: LiveInstall,
  folder: string,
  name: string,
): Promise<Guest> {
  const { firmware, variables, target, agentDisk, moreDisks = [], before, runs } = install;
  const live = {
    firmware,
    ...(variables === undefined ? {} : { variables }),
    ...jobOf(runs, before),
    disks: [
      { path: target, serial: 'target', writes: 'kept' },
      { path: agentDisk, serial: 'agent', writes: 'read-only' },
      ...moreDisks,
    ],
  } as const;
  return startLiveGuest(live, folder, name);
}

/** The job of a guest in which agents run; `before` is Bash that comes before them. */
export function jobOf(runs: readonly AgentRun[], before?: string): Job {
  const texts = Object.fromEntries(
    runs.flatMap((run, index) => [
      [`${index + 1}.words`, wordsOf(run).join('\0')],
      [`${index + 1}.settings`, settingsOf(run)],
    ]),
  );
  return { script, texts: { ...texts, ...(before === undefined ? {} : { 'before.sh': before }) } };
}

function wordsOf({ outside, words = [], installerArgs }: AgentRun): readonly string[] {
  const { cluster, host, inventory } = outside;
  const service = installArguments({
    host: HostSpec.parse({
      name: host.hostname,
      role: host.isBootstrap ? 'bootstrap' : host.role,
      installerArgs: installerArgs ?? ['--append-karg', 'lab.installed=yes'],
    }),
    hostId: host.id,
    infraEnvId: host.infraEnvId,
    cluster,
    serviceUrl: seenByGuests(inventory.url),
    bootDevice: '/dev/disk/by-id/virtio-target',
  });
  return [...service, ...words];
}

const settingsOf = (run: AgentRun): string =>
  Object.entries(variablesOf(run))
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('');

const variablesOf = ({ outside, settings }: AgentRun): Readonly<Record<string, string>> => ({
  PULL_SECRET_TOKEN: outside.token,
  ...Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [settingVariable(name), value]),
  ),
});

/**
 * The plan of the last agent of a live guest, computed outside of the guest to save its time.
 */
export async function planOfInstall({ runs }: Pick<LiveInstall, 'runs'>): Promise<Plan> {
  const run = runs.at(-1);
  if (run === undefined) throw new RangeError('no agent runs in this guest');
  return planOfAgent(wordsOf(run), variablesOf(run));
}
