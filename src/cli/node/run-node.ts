import { systemClock } from '../../adapters/clock.ts';
import { nsenterHost } from '../../adapters/host/nsenter-host.ts';
import { noJournal } from '../../adapters/journal/no-journal.ts';
import { openLog } from '../../adapters/logging/log-sink.ts';
import { systemRandom } from '../../adapters/random.ts';
import type { Environment } from '../../config/environment.ts';
import type { Role } from '../../engine/role.ts';
import { runRole } from '../../engine/run.ts';
import { parseImageName } from '../../os/image-name.ts';
import type { Host } from '../../ports/host.ts';
import { nodeApply } from '../../roles/node-apply.ts';
import { nodeRollback } from '../../roles/node-rollback.ts';
import { type NodeOrder, type NodePorts, restart } from '../../steps/os/index.ts';
import { readHost } from '../../steps/os/read-host.ts';
import type { nodeActions } from '../commands.ts';
import { eventHub } from '../event-hub.ts';
import { exitCodeOf, failureText } from '../failure-text.ts';
import { stopSignal } from '../stop-signal.ts';
import { version } from '../version.ts';
import { renderStatusJson, renderStatusText } from './show.ts';

/** What `node` is asked for. */
export interface NodeCall {
  readonly action: keyof typeof nodeActions;
  readonly order: NodeOrder;
  /** `text` or `json`. */
  readonly format: string;
  /** Log at level debug. */
  readonly isVerbose: boolean;
  readonly environment: Environment;
}

/**
 * Runs one command of a node on the host behind PID 1, and prints what the host runs and boots next.
 * The log goes to standard error. A stop ends it by the code of the signal; the host then boots what
 * it would have booted without it, or what was staged already.
 */
export async function runNode(call: NodeCall): Promise<number> {
  const { action, order } = call;
  if (action === 'apply') parseImageName(order.image);
  using stop = stopSignal();
  const hub = eventHub(systemClock, systemRandom.uuid());
  const log = openLog({
    level: call.isVerbose ? 'debug' : action === 'status' ? 'warn' : 'info',
    format: process.stderr.isTTY ? 'pretty' : 'json',
    descriptors: [2],
    mask: (text) => text,
  });
  hub.add(log.sink);
  const finished = new Set<string>();
  hub.add((event) => {
    if (event.type === 'step.finished') finished.add(event.step);
  });
  const host = nsenterHost({ environment: call.environment, onCommand: hub.tell });
  let failure: string | undefined;
  try {
    const run = (role: Role<NodeOrder, NodePorts>): Promise<unknown> =>
      runRole({
        role,
        config: order,
        ports: { host, clock: systemClock },
        clock: systemClock,
        journal: noJournal,
        header: { version, fingerprint: 'none', bootId: 'none' },
        run: hub.run,
        sinks: [hub.sink],
        signal: stop.signal,
      });
    const role = { status: undefined, apply: nodeApply, rollback: nodeRollback }[action];
    if (role !== undefined) await run(role);
    // A host that restarts has said all it will.
    if (!finished.has(restart.id)) await print(call, host, stop.signal);
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    failure = failureText(thrown);
    return exitCodeOf(thrown);
  } finally {
    await log.close();
    if (failure !== undefined) process.stderr.write(failure);
  }
}

async function print({ format }: NodeCall, host: Host, signal: AbortSignal): Promise<void> {
  const sight = await readHost({ host, signal });
  process.stdout.write(format === 'json' ? renderStatusJson(sight) : renderStatusText(sight));
}
