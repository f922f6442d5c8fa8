import { readFile } from 'node:fs/promises';
import { containerFile, containerLayer } from '../config/container.ts';
import type { ConfigFile } from '../config/file.ts';
import { parseDryHosts } from '../config/dry-hosts.ts';
import { configFailure } from '../config/failures.ts';
import { type Layer, mergeLayers } from '../config/layer.ts';
import type { SettingKey } from '../config/keys.ts';
import type { CheckedConfig } from '../config/load.ts';
import { secretFrom, secretsToRead } from '../config/secrets.ts';
import { defaultConfigFile } from './settings.ts';

/**
 * Reads the default configuration file, where there is one, and every file that was named.
 * @throws AgentError `config.file-not-read`
 */
export async function readConfigFiles(named: readonly string[]): Promise<readonly ConfigFile[]> {
  const byDefault = await readText(defaultConfigFile, '').catch((error: unknown) => {
    if (isAbsent(error)) return undefined;
    throw error;
  });
  const files = byDefault === undefined ? [] : [{ path: defaultConfigFile, text: byDefault }];
  for (const path of named) files.push({ path, text: await readText(path, 'flag --config: ') });
  return files;
}

/** Reads what the container says of itself. A container that says nothing lacks nothing. */
export async function readContainer(path = containerFile): Promise<Layer> {
  return containerLayer(await readFile(path, 'utf8').catch(() => ''));
}

/**
 * Reads the secrets that only a file gives.
 * @throws AgentError `config.file-not-read`
 */
export async function readSecretFiles(layers: readonly Layer[]): Promise<Layer> {
  const wanted = secretsToRead(mergeLayers(layers));
  const read = wanted.map(async ({ key, path, origin }) => {
    return [key, secretFrom(await readText(path, `${origin}: `), path)] as const;
  });
  return new Map(await Promise.all(read));
}

/**
 * Looks at the files that only the run opens, so that it does not begin without them.
 * @throws AgentError `config.file-not-read`, `config.malformed-file`
 */
export async function requireFiles({ config, origins }: CheckedConfig): Promise<void> {
  const { service, host, dry } = config;
  const originOf = (key: SettingKey): string => `${origins.get(key) ?? 'default'}: `;
  if (service.caFile !== '' && !service.insecure) {
    await readText(service.caFile, originOf('service.caFile'));
  }
  if (host.reach === 'dry' && dry.clusterHosts !== '') {
    const text = await readText(dry.clusterHosts, originOf('dry.clusterHosts'));
    parseDryHosts(text, dry.clusterHosts);
  }
}

async function readText(path: string, origin: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw configFailure('config.file-not-read', `${origin}${path} cannot be read`, {
      cause,
      context: { file: path },
    });
  }
}

const isAbsent = (error: unknown): boolean =>
  error instanceof Error &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  error.cause.code === 'ENOENT';
