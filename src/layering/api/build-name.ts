import { createHash } from 'node:crypto';
import { layeringFailure } from '../failures.ts';
import { goYaml, isList, type YamlValue } from './go-yaml.ts';
import type { MachineConfigPool, PoolReference } from './machine-config-pool.ts';
import type { MachineOSConfig } from './os-config.ts';
import type { OSImages } from './os-images.ts';

/**
 * What comes before the objects, a constant of the Machine Config Operator
 * (`pkg/controller/render/hash.go`). 80 bytes with SHA-256
 * aafce7669756d588db0a3588f252e4f40df4a89355218b519f52be2a4cd89aac.
 */
export const hashSalt: Uint8Array = Uint8Array.from([
  16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110, 25, 93, 47, 253, 172,
  106, 37, 7, 174, 13, 160, 185, 110, 17, 87, 52, 219, 131, 12, 206, 218, 141, 116, 135, 188, 181,
  192, 151, 233, 62, 126, 165, 64, 83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227, 133, 188,
  238, 26, 33, 26, 235, 202, 32, 173, 31, 234, 41, 144, 148, 79, 6, 206, 23, 22,
]);

/** What a build is named by. */
export interface BuildInputs {
  readonly config: MachineOSConfig;
  readonly pool: MachineConfigPool;
  readonly images: OSImages;
}

/**
 * The name that the cluster's builder gives the MachineOSBuild of these inputs: the name of the
 * MachineOSConfig and an MD5 over salt, configuration of the pool, spec of the MachineOSConfig and
 * images, each as the YAML of the operator's library
 * (`pkg/controller/build/buildrequest/machineosbuild.go`).
 * @throws AgentError `layering.pools-differ`, `layering.no-name`
 */
export function buildName(inputs: BuildInputs): string {
  const { config, pool } = inputs;
  if (config.spec.machineConfigPool.name !== pool.name) {
    throw layeringFailure(
      'layering.pools-differ',
      `the MachineOSConfig is for pool ${config.spec.machineConfigPool.name}, the MachineConfigPool is ${pool.name}`,
    );
  }
  const hash = createHash('md5').update(hashSalt);
  for (const text of hashedTexts(inputs)) hash.update(text, 'utf8');
  return `${config.name}-${hash.digest('hex')}`;
}

/** The three texts that are hashed; a list of files that is not there is null, as Go writes it. */
export function hashedTexts({ config, pool, images }: BuildInputs): readonly string[] {
  const { spec } = config;
  return [
    { ...referenceFields(pool.configuration), source: list(pool.configuration.source) },
    {
      ...(spec.baseImagePullSecret === undefined
        ? {}
        : { baseImagePullSecret: { name: spec.baseImagePullSecret.name } }),
      containerFile:
        spec.containerFile?.map(({ containerfileArch, content }) => ({
          containerfileArch: present(containerfileArch),
          content,
        })) ?? null,
      imageBuilder: { imageBuilderType: spec.imageBuilder.imageBuilderType },
      machineConfigPool: { name: spec.machineConfigPool.name },
      renderedImagePushSecret: { name: spec.renderedImagePushSecret.name },
      renderedImagePushSpec: spec.renderedImagePushSpec,
    },
    {
      BaseOSContainerImage: images.baseOSContainerImage,
      BaseOSExtensionsContainerImage: images.baseOSExtensionsContainerImage,
      OSImageURL: images.osImageURL,
      ReleaseVersion: images.releaseVersion,
    },
  ].map((object) => goYaml(passed(object)));
}

/** Go leaves empty fields of a reference out. */
const referenceFields = (reference: PoolReference): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(reference).map(([name, text]) => [name, present(text)]));

const present = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

const list = (source: readonly PoolReference[]): YamlValue | undefined =>
  source.length === 0 ? undefined : source.map(referenceFields);

function passed(value: YamlValue): YamlValue {
  if (typeof value === 'string') return throughJson(value);
  if (value === null) return null;
  if (isList(value)) return value.map(passed);
  const members = Object.entries(value).map(([key, member]) => [
    key,
    member === undefined ? undefined : passed(member),
  ]);
  return Object.fromEntries(members) as YamlValue;
}

/** Characters that yaml.v2 refuses in its input and that encoding/json does not escape. */
const REFUSED = /[\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;

/**
 * What becomes of a string that Go writes as JSON and reads again as YAML, which the operator's
 * YAML library does before it writes it as YAML. JSON leaves NEL (U+0085) as it is; YAML takes it
 * for a line break within quotes, drops the spaces around it and folds it. Everything else comes
 * back unchanged.
 * @throws AgentError `layering.no-name` for what the library cannot read back: the operator fails
 * with it too
 */
export function throughJson(text: string): string {
  const wellFormed = text.toWellFormed();
  const refused = REFUSED.exec(wellFormed);
  if (refused !== null) throw unnameable(wellFormed, refused);
  const marker = /\u0085(?:---|\.\.\.)(?=[ \u0085])/.exec(wellFormed);
  if (marker !== null) throw unnameable(wellFormed, marker);
  return wellFormed.replaceAll(/(?<! ) *\u0085[ \u0085]*/g, (run) => {
    const breaks = run.replaceAll(' ', '').length;
    return breaks === 1 ? ' ' : '\n'.repeat(breaks - 1);
  });
}

function unnameable(text: string, { 0: found, index }: RegExpExecArray): Error {
  const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const line = text.slice(0, index).split('\n').length;
  return layeringFailure(
    'layering.no-name',
    `the character U+${code} in line ${line} of a text is one that the Machine Config Operator cannot hash`,
    { context: { character: `U+${code}`, line } },
  );
}
