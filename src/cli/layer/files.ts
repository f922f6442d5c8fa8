import { gunzipSync } from 'node:zlib';
import { readFileOf } from '../../adapters/file-access.ts';
import { ownOrHost } from '../../adapters/host-root.ts';
import { notRead } from '../../config/files.ts';
import { type MachineConfig, readMachineConfig } from '../../layering/api/machine-config.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import { buildableOSConfig } from '../../layering/api/os-config-findings.ts';
import {
  decodeSource,
  sourceFailure,
  isSourceFinding,
  readListed,
  type SourceFile,
  type SourceObject,
} from '../../layering/api/source-object.ts';
import { layeringFailure } from '../../layering/failures.ts';

/**
 * Reads a file that the command line names.
 * @param wanted the expected content, for the message
 * @throws AgentError `config.file-not-read`, `layering.malformed-file` for a file that is not UTF-8
 */
export async function readSource(path: string, wanted?: string): Promise<SourceFile> {
  const read = decodeSource(path, await readBytes(path), wanted);
  if (isSourceFinding(read)) throw sourceFailure(read);
  return read;
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    const bytes = await readFileOf({ at: await ownOrHost(path), path, kind: 'manifests' });
    return isPacked(bytes) ? gunzipSync(bytes, { maxOutputLength: largest }) : bytes;
  } catch (cause) {
    return notRead(path)(cause);
  }
}

/** A Secret holds at most a megabyte, so a large MachineConfig may be compressed. */
const isPacked = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b;

/** Limit of the decompressed bytes; many times the size of the largest object. */
const largest = 64 * 1024 * 1024;

/**
 * Reads the one object of a kind from a file that may hold other objects, also in a List. Without a
 * kind, reads the only object.
 * @throws AgentError `config.file-not-read`, `layering.malformed-file`, `layering.wrong-object`
 */
export async function readOne(path: string, kind?: string): Promise<SourceObject> {
  const wanted = kind === undefined ? 'an object' : `a ${kind}`;
  const objects = readListed(await readSource(path, wanted), wanted).map((read) => {
    if (isSourceFinding(read)) throw sourceFailure(read);
    return read;
  });
  const found = objects.filter(({ value }) => kind === undefined || value['kind'] === kind);
  const [first, second] = found;
  if (first === undefined) {
    const [other] = objects;
    const place = other === undefined ? path : other.place(['kind']);
    const problem = other === undefined ? 'the file is empty' : `this is another kind`;
    throw layeringFailure('layering.wrong-object', `${place}: expected ${wanted}, ${problem}`);
  }
  if (second === undefined) return first;
  throw layeringFailure(
    'layering.wrong-object',
    `${second.place([])}: the file has more than one ${kind ?? 'object'}; give a file with one`,
  );
}

/** The two files from which an image is built. */
export interface BuildFiles {
  readonly osConfig: string;
  readonly renderedConfig: string;
}

/**
 * Reads the files from which an image is built.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export async function readBuildFiles({ osConfig, renderedConfig }: BuildFiles): Promise<{
  readonly config: MachineOSConfig;
  readonly machineConfig: MachineConfig;
}> {
  const config = buildableOSConfig(await readOne(osConfig, 'MachineOSConfig'));
  const machineConfig = readMachineConfig(await readOne(renderedConfig, 'MachineConfig'));
  return { config, machineConfig };
}
