import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { type FieldError, fieldErrorText } from '../../src/layering/api/check-object.ts';
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

/** What the server adds when it has not checked the rules. */
const UNCHECKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** What a server says of these errors at once: no rule while anything blocks them. */
function saidOf(errors: readonly FieldError[]): readonly string[] {
  if (!errors.some(({ isBlocking }) => isBlocking)) return errors.map(fieldErrorText);
  return [...errors.filter(({ isRule }) => !isRule).map(fieldErrorText), UNCHECKED];
}

/**
 * Our faults as the server would word them: it puts several into brackets in an order of its own, so ours are
 * brought into that order; our fault that it does not have stands at the end.
 */
export function verdictOf(
  faults: readonly FieldError[],
  theirs: string | undefined,
): string | undefined {
  const texts = [...new Set(saidOf(faults))];
  const place = (text: string): number => {
    const index = theirs?.indexOf(text) ?? -1;
    return index < 0 ? Number.MAX_SAFE_INTEGER : index;
  };
  const ordered = texts.sort((a, b) => place(a) - place(b));
  if (ordered.length === 0) return undefined;
  return ordered.length === 1 ? ordered[0] : `[${ordered.join(', ')}]`;
}
