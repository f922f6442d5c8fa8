import { systemClock } from '../../adapters/clock.ts';
import { nsenterHost } from '../../adapters/host/nsenter-host.ts';
import type { Environment } from '../../config/environment.ts';
import { osFailure } from '../../os/failures.ts';
import { parseImageName } from '../../os/image-name.ts';
import type { Host } from '../../ports/host.ts';
import { nodeApply } from '../../roles/node-apply.ts';
import { nodeRollback } from '../../roles/node-rollback.ts';
import { checkOrder, type NodeOrder } from '../../steps/os/index.ts';
import { readHost } from '../../steps/os/read-host.ts';
import { readBootId } from '../boot-id.ts';
import type { nodeActions } from '../commands.ts';
import { withoutJournal } from '../without-journal.ts';
import { renderStatusJson, renderStatusText } from './show.ts';

/** What `node` is asked for. */
export interface NodeCall {
  readonly action: keyof typeof nodeActions;
  readonly order: NodeOrder;
  /** For `status`: what the host must run, or the command fails. */
  readonly expected?: string;
  /** Boot id of the host; with any other nothing is done. */
  readonly inBoot?: string;
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
 * @throws AgentError `os.bad-image-name` before the host is asked, `os.runs-another`
 */
export async function runNode(call: NodeCall): Promise<number> {
  const { action, order, environment } = call;
  if (action === 'apply') checkOrder(order);
  if (call.expected !== undefined) parseImageName(call.expected);
  const level = call.isVerbose ? 'debug' : action === 'status' ? 'warn' : 'info';
  return withoutJournal({ level, stream: 'stderr' }, async ({ tell, play, signal }) => {
    const host = nsenterHost({ environment, onCommand: tell });
    const role = { status: undefined, apply: nodeApply, rollback: nodeRollback }[action];
    const ports = { host, clock: systemClock };
    const isDue = role !== undefined && (await isInBoot(call, host, signal));
    const outcome = isDue ? await play({ role, config: order, ports }) : 'finished';
    // A host that restarts has said all it will.
    if (outcome === 'finished') await print(call, host, signal);
  });
}

async function isInBoot({ inBoot }: NodeCall, host: Host, signal: AbortSignal): Promise<boolean> {
  if (inBoot === undefined || inBoot === (await readBootId(host, signal))) return true;
  process.stderr.write(`note: the host has started anew since boot ${inBoot}: nothing is done\n`);
  return false;
}

async function print(
  { format, expected }: NodeCall,
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const sight = await readHost({ host, signal });
  process.stdout.write(format === 'json' ? renderStatusJson(sight) : renderStatusText(sight));
  const running = sight.status.booted?.image ?? 'no image';
  if (expected === undefined || expected === running) return;
  throw osFailure('os.runs-another', `the host runs ${running}, not ${expected}`);
}
