import { seconds } from '../../model/duration.ts';
import { unitState } from '../cluster/systemd-unit.ts';
import type { StepScope } from '../step.ts';

/** Two units of systemd: one watches a path, the other one runs a command each time. */
export interface PathUnit {
  readonly name: string;
  /** The unit that watches. */
  readonly path: string;
  /** The unit that runs the command. */
  readonly service: string;
}

/** The units of a name. */
export const pathUnit = (name: string): PathUnit => ({
  name,
  path: `${name}.path`,
  service: `${name}.service`,
});

/** Makes both units and starts the watch, a setting of `systemd.path(5)`. */
export const watchArgv = (
  { name }: PathUnit,
  watch: `${'PathExists' | 'PathChanged'}=${string}`,
  command: readonly string[],
): readonly string[] => [
  ...['systemd-run', `--unit=${name}`, '--collect', `--path-property=${watch}`],
  ...command,
];

/** Starts the watch by its command, unless an earlier run did. */
export async function startWatch(
  { host, signal }: Pick<StepScope<'host'>, 'host' | 'signal'>,
  { path }: PathUnit,
  argv: readonly string[],
): Promise<void> {
  if ((await unitState(host, path, signal)) === 'active') return;
  await host.exec(argv, { signal, limit: seconds(60) });
}
