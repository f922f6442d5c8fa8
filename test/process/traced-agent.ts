import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../../mocks/host/machine.ts';
import type { RecordedRequest } from '../../mocks/http/mock-server.ts';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost } from '../../mocks/lab/single-host.ts';

/** The observable result of one run of an agent. */
export interface TracedRun {
  readonly exitCode: number | undefined;
  readonly requests: readonly RecordedRequest[];
  readonly machine: Machine;
  readonly serviceUrl: string;
  /** Text of every file that the run wrote: log, journal, events, Ignition, output. */
  readonly files: ReadonlyMap<string, string>;
}

/** The token of the run; no file may contain it. */
export const plantedSecret = 'planted-secret-7f3a9c';

/** The flags of the recorded trace, besides the ids. */
const recordedWords = [
  ...['--agent-image', 'registry.example/agent:1', '--skip-installation-disk-cleanup'],
  ...['--installer-args', '["--append-karg","ip=eth0:dhcp"]'],
];

/** Runs the built agent against the stand-ins in the same way as the traced agent ran. */
export async function traceAgent(role: 'master' | 'worker', bundle: string): Promise<TracedRun> {
  await using host = await openSingleHost({
    role,
    isControlPlaneDone: true,
    write: { seconds: 0.4, flushSeconds: 0, lineMillis: 20 },
    token: plantedSecret,
  });
  const agent = startAgent({
    bundle,
    args: [...host.words, ...recordedWords, '--verbose'],
    env: {
      ...host.environment,
      BOOTWRIGHT_LOG_EVENTS: join(host.folder, 'events.jsonl'),
      // The traced agent always waits a minute; Bootwright waits only if a setting says so (ADR
      // 0011).
      BOOTWRIGHT_FINISH_REBOOT_DELAY_MINUTES: '1',
    },
    logFile: join(host.folder, 'agent.log'),
  });
  const { exitCode } = await agent.ended;
  const { inventory, machine, folder } = host;
  return {
    exitCode,
    requests: [...inventory.requests],
    machine,
    serviceUrl: inventory.url,
    files: filesBelow(folder),
  };
}

function filesBelow(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path, readFileSync(path, 'latin1')];
    }),
  );
}
