import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { type DefinedKind, preparedObject } from '../../src/layering/api/check-object.ts';
import { checkValue, type FieldError, fieldErrorText } from '../../src/layering/api/check-value.ts';
import type { Fields } from '../../src/layering/api/schema.ts';
import type { KubeKind } from '../../src/ports/kube.ts';

export const machineOSConfigs: KubeKind = {
  group: 'machineconfiguration.openshift.io',
  version: 'v1',
  plural: 'machineosconfigs',
};

export const machineOSBuilds: KubeKind = { ...machineOSConfigs, plural: 'machineosbuilds' };

/** What the server says of the object, without the request; undefined when it took it. */
export async function refusalOf(asked: Promise<unknown>): Promise<string | undefined> {
  try {
    await asked;
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeRefusal) || error.status !== 422) throw error;
    return error.message.replace(/^[\s\S]*? is invalid: /, '');
  }
}

/** Where an object is created by a server that refuses what it does not know, and keeps nothing. */
export const strictMachineOSConfigs: KubeKind = {
  ...machineOSConfigs,
  plural: `${machineOSConfigs.plural}?fieldValidation=Strict&dryRun=All`,
};

/** The members that such a server does not know, each in its words. */
export async function unknownTo(asked: Promise<unknown>): Promise<readonly string[]> {
  try {
    await asked;
    return [];
  } catch (error) {
    if (!(error instanceof KubeRefusal) || error.status !== 400) throw error;
    const [, list] = /strict decoding error: (.*)$/s.exec(error.message) ?? [];
    if (list === undefined) throw error;
    return list.split(', ').map((problem) => `strict decoding error: ${problem}`);
  }
}

/**
 * Our faults as the server would word them: it puts several into brackets in an order of its own, so ours are
 * brought into that order; a fault of ours that it does not have stands at the end.
 */
export function verdictOf(
  faults: readonly FieldError[],
  theirs: string | undefined,
): string | undefined {
  const texts = [...new Set(faults.map(fieldErrorText))];
  const place = (text: string): number => {
    const index = theirs?.indexOf(text) ?? -1;
    return index < 0 ? Number.MAX_SAFE_INTEGER : index;
  };
  const ordered = texts.sort((a, b) => place(a) - place(b));
  if (ordered.length === 0) return undefined;
  return ordered.length === 1 ? ordered[0] : `[${ordered.join(', ')}]`;
}

/** The errors of a status that replaces another, by the schema that all checks of the kind share. */
export function statusErrors(
  status: Fields,
  kind: DefinedKind,
  old?: Fields,
): readonly FieldError[] {
  const ofStatus = { ...kind, schema: kind.status };
  const subject = {
    value: preparedObject(status, ofStatus),
    old: old === undefined ? undefined : preparedObject(old, ofStatus),
    path: 'status',
    bodyPath: '',
  };
  return checkValue(subject, kind.status);
}
