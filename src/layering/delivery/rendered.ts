import { layeringFailure } from '../failures.ts';
import { readMachineConfig, releaseVersionKey } from '../machine-config.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';
import { readObjects, type SourceFile, type SourceObject } from '../source-object.ts';

/** Without it the Machine Config Operator cannot name a build. */
const controllerVersionKey = 'machineconfiguration.openshift.io/generated-by-controller-version';

/**
 * The MachineConfig that the machine-config-server of the bootstrap host looks up for a pool: that of the status.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function renderedNameIn(poolFile: SourceFile): string {
  const object = onlyObject(poolFile);
  const name = membersOf(membersOf(object.value['status'])['configuration'])['name'];
  if (typeof name === 'string' && name !== '') return name;
  const place = object.place(['status', 'configuration', 'name']);
  throw layeringFailure('layering.wrong-object', `${place}: the pool names no MachineConfig`);
}

/**
 * The operating system of a rendered MachineConfig, by digest.
 * @throws AgentError as `readMachineConfig`, and `layering.machine-config-invalid`
 */
export function osImageIn(renderedFile: SourceFile): string {
  const object = onlyObject(renderedFile);
  const { osImageURL, name } = readMachineConfig(object);
  if (!/@sha256:[0-9a-f]{64}$/.test(osImageURL)) {
    const place = object.place(['spec', 'osImageURL']);
    throw invalid(`${place}: ${osImageURL} of ${name} is not named by its digest`);
  }
  const annotations = membersOf(membersOf(object.value['metadata'])['annotations']);
  for (const key of [controllerVersionKey, releaseVersionKey]) {
    if (typeof annotations[key] === 'string' && annotations[key] !== '') continue;
    throw invalid(`${object.place(['metadata', 'annotations'])}: ${name} has no annotation ${key}`);
  }
  return osImageURL;
}

function onlyObject(file: SourceFile): SourceObject {
  const [object] = readObjects(file);
  if (object !== undefined) return object;
  throw layeringFailure('layering.wrong-object', `${file.path}: it holds no object`);
}

const membersOf = (value: Value | undefined): Members => (isMembers(value) ? value : {});

const invalid = (message: string): Error =>
  layeringFailure('layering.machine-config-invalid', message);
