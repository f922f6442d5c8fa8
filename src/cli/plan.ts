import { isInContainer, requireHost } from '../adapters/host-root.ts';
import { loadConfig, missingIn } from '../config/load.ts';
import { plainLine, withTexts } from '../lib/plain-text.ts';
import { maskerFor } from '../lib/masker.ts';
import { shownText } from '../lib/shown-url.ts';
import { describeRole, type Plan } from '../engine/describe.ts';
import { asAgentError } from '../engine/failures.ts';
import { chooseRole } from '../roles/choose.ts';
import type { InstallLine } from './command.ts';
import { renderFindings, withRefusals } from './config.ts';
import { exitCodeOf, jsonText, print, printError, printNote } from './messages.ts';
import { renderPlanText } from './plan-text.ts';

/**
 * Prints the plan of an install with the same flags, and changes nothing. If the install would be
 * refused, prints the reasons on standard error and resolves with the exit code of the install.
 * @throws AgentError `cli.*`, `config.*`, `role.*`
 */
export async function runPlan({ argv, environment, format }: InstallLine): Promise<number> {
  const loaded = await loadConfig(argv, environment);
  const { config, notes } = loaded;
  for (const note of notes) printNote('note', note);
  const unseen = await unseenFromContainer(config.host.root);
  if (unseen !== undefined) printNote('warning', plainLine(unseen));
  const plan = describeRole(chooseRole(config), config);
  print(renderPlan(plan, format, maskerFor(config).mask));
  const refusals = withRefusals(await missingIn(loaded), config);
  const [first] = refusals;
  if (first === undefined) return 0;
  printError(renderFindings(refusals));
  return exitCodeOf(first);
}

/**
 * The reason why an install in this container would be refused. Elsewhere, as on a laptop, a plan
 * is only for reading.
 */
async function unseenFromContainer(root: string): Promise<string | undefined> {
  if (!(await isInContainer())) return undefined;
  try {
    await requireHost(root);
    return undefined;
  } catch (thrown) {
    const { code, message, hint } = asAgentError(thrown);
    return `an install in this container would be refused: ${code}: ${message}; ${hint}`;
  }
}

/** Renders a plan in one of its formats; masks secrets and passwords in URLs. */
export function renderPlan(
  plan: Plan,
  format: string,
  mask = (text: string): string => text,
): string {
  const masked = withTexts(plan, (text) => shownText(mask(text))) as Plan;
  return format === 'json' ? jsonText({ v: 1, ...masked }) : renderPlanText(masked);
}
