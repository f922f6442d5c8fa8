import { type Decoded, type DecodedObject, keyOfEntry } from './decode.ts';
import type { Finding } from './finding.ts';
import { configShape } from './schema.ts';
import type { ObjectShape, Shape } from './shape.ts';
import type { Config } from './types.ts';
import * as disks from './validate/disks.ts';
import { Place, type Validator } from './validate/place.ts';
import * as resource from './validate/resource.ts';
import * as storage from './validate/storage.ts';
import * as systemd from './validate/systemd.ts';
import { readSpec } from './version.ts';

/** The validator of each object shape, by the shape's name. */
const validators = {
  Config: storage.validateConfigPaths,
  ConfigReferences: resource.validateConfigReferences,
  Resource: resource.validateResource,
  Reference: resource.validateReference,
  HttpHeader: resource.validateHttpHeader,
  Verification: resource.validateVerification,
  Tls: resource.validateTls,
  Proxy: resource.validateProxy,
  Storage: storage.validateStorage,
  File: storage.validateFile,
  Directory: storage.validateDirectory,
  Link: storage.validateLink,
  Owner: storage.validateOwner,
  Disk: disks.validateDisk,
  Partition: disks.validatePartition,
  Filesystem: disks.validateFilesystem,
  Raid: disks.validateRaid,
  Luks: disks.validateLuks,
  Clevis: disks.validateClevis,
  ClevisCustom: disks.validateClevisCustom,
  Tang: disks.validateTang,
  Systemd: systemd.validateSystemd,
  Unit: systemd.validateUnit,
  Dropin: systemd.validateDropin,
};

const validatorsByName = new Map<string, Validator<never>>(Object.entries(validators));

/**
 * Validates a config by the rules of its own spec version. The verdict is Ignition's: a config with an
 * error among the findings would stop the first boot. Nothing is fetched, so a merged config must be
 * validated again.
 *
 * @throws AgentError `ignition.no-version` and the like, for a version that is not known
 */
export function validateConfig(config: Config): readonly Finding[] {
  const findings: Finding[] = [];
  const place = new Place(readSpec(config.ignition.version).minor, findings);
  // A config is what the shape describes; the walk only needs to see it as data.
  walk(configShape, config as unknown as DecodedObject, place);
  return findings;
}

function walk(shape: Shape, value: Decoded, place: Place): void {
  if (shape.kind === 'list') {
    for (const [index, entry] of (value as readonly Decoded[]).entries()) {
      walk(shape.item, entry, place.at(index));
    }
  }
  if (shape.kind !== 'object') return;
  const members = value as DecodedObject;
  validatorsByName.get(shape.name)?.(members as never, place);
  validateDuplicates(shape, members, place);
  for (const [name, field] of Object.entries(shape.fields)) {
    const member = members[name];
    if (member !== undefined) walk(field.shape, member, place.at(name));
  }
}

/** No two entries of a list with keys, or of lists that share their keys, may have the same key. */
function validateDuplicates(shape: ObjectShape, value: DecodedObject, place: Place): void {
  const shared = new Set<string>();
  for (const [name, field] of Object.entries(shape.fields)) {
    const list = value[name];
    if (field.shape.kind !== 'list' || field.shape.merges !== 'by-key') continue;
    const seen = shape.sharedKeys.includes(name) ? shared : new Set<string>();
    for (const [index, entry] of ((list ?? []) as readonly Decoded[]).entries()) {
      const key = keyOfEntry(field.shape, entry);
      if (seen.has(key)) place.at(name, index).report('duplicate-entry');
      seen.add(key);
    }
  }
}
