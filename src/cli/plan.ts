import { isInContainer, requireHost } from '../adapters/host-root.ts';
import { loadConfig, missingIn } from '../config/load.ts';
import { plainLine } from '../lib/plain-text.ts';
import { shownText } from '../lib/shown-url.ts';
import { describeRole, type Plan, type PlannedItem, type PlannedStep } from '../engine/describe.ts';
import { asAgentError } from '../engine/failures.ts';
import { MASK, type Secret } from '../model/secret.ts';
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
  const secrets = [config.service.token, config.s3.secretAccessKey];
  const plan = describeRole(chooseRole(config), config);
  print(renderPlan(plan, format, secrets));
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
export const renderPlan = (
  plan: Plan,
  format: string,
  secrets: readonly (Secret | undefined)[] = [],
): string => {
  const masked = maskPlan(plan, secrets);
  return format === 'json' ? jsonText({ v: 1, ...masked }) : renderPlanText(masked);
};

function maskPlan(plan: Plan, secrets: readonly (Secret | undefined)[]): Plan {
  const hidden = secrets.flatMap((secret) =>
    secret === undefined || secret.isEmpty ? [] : [secret.reveal()],
  );
  const word = (text: string): string =>
    hidden.reduce((shown, value) => shown.replaceAll(value, MASK), shownText(text));
  const step = (planned: PlannedStep): PlannedStep => ({
    ...planned,
    ...(planned.explanation === undefined ? {} : { explanation: word(planned.explanation) }),
    commands: planned.commands.map((argv) => argv.map(word)),
  });
  const item = (planned: PlannedItem): PlannedItem =>
    planned.kind === 'step'
      ? { kind: 'step', step: step(planned.step) }
      : {
          kind: 'lanes',
          lanes: planned.lanes.map(({ name, steps }) => ({ name, steps: steps.map(step) })),
        };
  return {
    ...plan,
    items: plan.items.map(item),
    follow: plan.follow.map(step),
    always: plan.always.map(step),
  };
}
