import fc from '../support/properties.ts';

/** Texts made of a few pieces, so that they often come close to the limits of a syntax. */
function joined(...chunks: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...chunks), { maxLength: 12 }).map((parts) => parts.join(''));
}

/** JSON, or almost JSON. Exponents are omitted: Go refuses numbers beyond a double. */
export const jsonTexts = joined(
  ...['{', '}', '"', 'a', ':', '1', ',', '[', ']', ' ', '1.0', '-', '0', '\ufeff', 'null', 'true'],
  ...['\n', '\\', '"a"', 'u00e9', 'n', '.', '\t', '\u0001'],
);

/** Text that may come before and after a config. */
export const context = fc.tuple(
  joined(' ', '\n', '\ufeff', '<', 'a'),
  joined(' ', '\n', 'x', '}', '{}', '\u0000', ','),
);

const file = (members: string): string => `"storage":{"files":[{${members}}]}`;

/** The name of a member for Go, which ignores case. */
const nameOf = (member: string): string =>
  Object.keys(JSON.parse(`{${member}}`) as object)
    .join()
    .toLowerCase();

/** Members of a config in every type and state that Go's decoder distinguishes. */
export const members = fc.uniqueArray(
  fc.constantFrom(
    ...['"ignition":{"version":"3.3.0"}', '"ignition":null', '"ignition":{"version":null}'],
    ...['"ignition":[]', '"ignition":{"version":3}', '"storage":null', '"storage":{}'],
    ...['"storage":[]', '"storage":{"files":null}', '"storage":{"files":[null]}'],
    ...['"storage":{"files":{}}', '"Storage":{"files":[{}]}', file('"path":"/a","mode":"1"')],
    ...[file('"path":"/a","mode":1.0'), file('"path":"/a","mode":5000,"mode":1')],
    ...['"kernelArguments":{"shouldExist":[1]}', '"pa\\u0073swd":{"users":[{"name":"a"}]}'],
    ...['"passwd":{"users":[{"name":1}]}', '"x":{"y":[1.5,null]}'],
    ...['"__proto__":{}', '"constructor":1'],
  ),
  { minLength: 1, maxLength: 3, selector: nameOf },
);
