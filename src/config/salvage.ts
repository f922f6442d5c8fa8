import { AgentError } from '../model/failure.ts';
import { type Environment, environmentLayer, knownVariablesLayer } from './environment.ts';
import { readConfigFiles, readSecretFiles } from './files.ts';
import { type FlagsRead, readFlags } from './flags.ts';
import { checkConfig } from './load.ts';
import type { Config } from './schema.ts';
import { type Layer, mergeLayers } from './settings.ts';
import { fileLayer } from './yaml-file.ts';

/** What it takes to reach the service, and to find out whether another agent runs on this host. */
const wanted = /^(?:service|cluster|proxy|host)\./;

/**
 * What a command line, its environment and its files say of the service and of this host, although
 * they cannot be used as a whole: each setting that is right by itself, defaults for the others.
 * With it a failure can be reported; nothing may be installed with it.
 */
export async function salvageConfig(
  argv: readonly string[],
  environment: Environment,
): Promise<Config> {
  const flags = argv.flatMap((word, at) => flagsAt(word, argv[at + 1]));
  const variables = Object.entries(environment).map(([name, text]) => ({ [name]: text }));
  const given = mergeLayers([
    ...(await fileLayers(flags.flatMap(({ configFiles }) => configFiles))),
    ...variables.map((one) => ifReadable(() => knownVariablesLayer(one)) ?? nothing),
    ...variables.map((one) => ifReadable(() => environmentLayer(one)) ?? nothing),
    ...flags.map(({ layer }) => layer),
  ]);
  const alone = [...given].map(([key, value]): Layer => new Map([[key, value]]));
  const kept = alone.filter(
    (layer) =>
      [...layer.keys()].every((key) => wanted.test(key)) &&
      ifReadable(() => checkConfig([layer])) !== undefined,
  );
  const secrets = await readSecretFiles(kept).catch(() => nothing);
  return checkConfig([...kept, secrets]).config;
}

const nothing: Layer = new Map();

/** A flag by itself, or with the word behind it. */
function flagsAt(word: string, next: string | undefined): readonly FlagsRead[] {
  if (!word.startsWith('-')) return [];
  const read =
    ifReadable(() => readFlags([word])) ??
    (next === undefined ? undefined : ifReadable(() => readFlags([word, next])));
  return read === undefined ? [] : [read];
}

/** The default file, and those that are named; one that cannot be read is left out. */
async function fileLayers(named: readonly string[]): Promise<readonly Layer[]> {
  const read = [[], ...named.map((path) => [path])].map((paths) => readConfigFiles(paths));
  const files = await Promise.allSettled(read);
  return files
    .flatMap((file) => (file.status === 'fulfilled' ? file.value : []))
    .map((file) => fileLayer(file, () => undefined));
}

function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof AgentError) return undefined;
    throw thrown;
  }
}
