import type { Environment } from '../config/environment.ts';
import { describeRole } from '../engine/describe.ts';
import { chooseRole } from '../roles/choose.ts';
import { type PlanFormat, renderPlan } from './plan.ts';
import { sourceConfig } from '../config/load.ts';

/** What `plan` is asked for. */
export interface PlanCall {
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly format: string;
}

/**
 * Prints what an install with the same flags would do; nothing is touched.
 * @throws AgentError `cli.*`, `config.*`, `role.*`
 */
export async function runPlan({ words, environment, format }: PlanCall): Promise<number> {
  const { config, notes } = await sourceConfig(words, environment);
  process.stderr.write(notes.map((note) => `note: ${note}\n`).join(''));
  const secrets = [config.service.token, config.s3.secretAccessKey];
  const plan = describeRole(chooseRole(config), config);
  process.stdout.write(renderPlan(plan, format as PlanFormat, secrets));
  return 0;
}
