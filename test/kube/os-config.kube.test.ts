import fc from '../support/properties.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { machineOSConfigs } from '../../src/kube/kinds.ts';
import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { checkedOSConfig, machineOSConfigKind } from '../../src/layering/api/os-config.ts';
import type { Fields } from '../../src/lib/fields.ts';
import { lineless } from '../../src/layering/api/source-object.ts';
import { brokenMembers, pushSpec, resourceName } from './os-config-arbitrary.ts';

let rig: Kube;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const arch = fc.constantFrom('ARM64', 'AMD64', 'PPC64LE', 'S390X', 'NoArch', 'noarch', undefined);
const content = fc.oneof(
  fc.string(),
  fc.constantFrom('x'.repeat(4096), 'x'.repeat(4097), '\u{1f600}'.repeat(4096)),
);

/** Objects that are nearly valid: each member is mostly valid. */
const configs = fc
  .record({
    name: resourceName,
    pool: resourceName,
    isSame: fc.boolean(),
    secret: resourceName,
    pull: fc.option(resourceName),
    push: pushSpec,
    builder: fc.constantFrom('Job', 'Job', 'Job', 'PodImageBuilder'),
    files: fc.array(fc.record({ containerfileArch: arch, content }), { maxLength: 5 }),
    hasFiles: fc.boolean(),
  })
  .map(({ name, pool, isSame, secret, pull, push, builder, files, hasFiles }) => ({
    apiVersion: machineOSConfigKind.apiVersion,
    kind: machineOSConfigKind.kind,
    metadata: { name },
    spec: {
      machineConfigPool: { name: isSame ? name : pool },
      imageBuilder: { imageBuilderType: builder },
      ...(pull === null ? {} : { baseImagePullSecret: { name: pull } }),
      renderedImagePushSecret: { name: secret },
      renderedImagePushSpec: push,
      ...(hasFiles ? { containerFile: files } : {}),
    },
  }));

describe('a MachineOSConfig', () => {
  it('is refused if the API server refuses it, and otherwise read as stored', async () => {
    const property = fc.asyncProperty(brokenMembers(configs, ['spec']), async (object) => {
      const ref = { kind: machineOSConfigs, name: String(nameOf(object)) };
      const ours = checkedOSConfig(lineless(object, 'f'));
      const isTaken = await rig.client
        .create(machineOSConfigs, object as never)
        .then(() => true, refused);
      // The server drops unknown fields; we refuse them.
      if (isTaken !== true) expect(Array.isArray(ours), JSON.stringify(ours)).toBe(true);
      else if (!Array.isArray(ours)) {
        expect((await rig.client.get(ref))?.['spec']).toEqual(ours.spec);
      } else expect(ours.map(({ message }) => message).join()).toContain('unknown field');
      if (isTaken === true) await rig.client.remove(ref);
    });
    await fc.assert(property, { numRuns: 300 });
  });
});

const refused = (error: unknown): undefined => {
  if (!(error instanceof KubeRefusal)) throw error;
};

const nameOf = (object: Fields): unknown => (object['metadata'] as Fields)['name'];
