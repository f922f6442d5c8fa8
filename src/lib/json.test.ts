import { afterEach, expect, it, vi } from 'vitest';
import fc from '../../test/support/properties.ts';
import { isContained, jsonIn, elementReader } from './json.ts';

afterEach(() => vi.restoreAllMocks());

it('does not parse a long text that is nested too deeply: 20 MB took 1.5 GB', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const deep = '['.repeat(2 ** 20 + 1);
  for (const text of [deep, `${deep}${']'.repeat(2 ** 20)}`, `{"a":${deep}`])
    expect(jsonIn(text)).toBeUndefined();
  expect(parse).not.toHaveBeenCalled();
});

it('parses a long text that is not nested deeply', () => {
  const wide = `{"a":[${'[],{"":"["},'.repeat(2 ** 17)}0]}`;
  expect(jsonIn(wide)).toMatchObject({ a: { length: 2 ** 18 + 1 } });
});

const sent = { metadata: { name: 'a' }, spec: { list: [{ x: 1 }], empty: '', none: null } };
it.each([
  ['accepts an equal object', sent, true],
  [
    'accepts an object with members added by the server',
    {
      metadata: { name: 'a', uid: 'u' },
      spec: { list: [{ x: 1, y: 2 }] },
      status: {},
    },
    true,
  ],
  [
    'rejects an object with a different value',
    { ...sent, spec: { ...sent.spec, list: [{ x: 2 }] } },
    false,
  ],
  ['rejects an object with a longer list', { ...sent, spec: { list: [{ x: 1 }, {}] } }, false],
  ['rejects an object without a member', { metadata: { name: 'a' } }, false],
  ['rejects an object with an empty object for a list', { ...sent, spec: { list: {} } }, false],
  ['rejects undefined', undefined, false],
  [
    'rejects an object with an object of the same members for a list',
    { ...sent, spec: { ...sent.spec, list: { 0: { x: 1 } } } },
    false,
  ],
])('isContained %s', (_, stored, expected) => {
  expect(isContained(sent, stored)).toBe(expected);
});

/** Returns the extracted elements and the rest of a text that is read in pieces of one length. */
function readIn(
  text: string,
  length: number,
  { name }: { readonly name: string | undefined } = { name: 'list' },
): { readonly taken: unknown[]; readonly left: string } {
  const taken: unknown[] = [];
  const take = (element: string): number => taken.push(JSON.parse(element));
  const reader = elementReader({ name, take });
  for (let at = 0; at < text.length; at += length) reader.write(text.slice(at, at + length));
  return { taken, left: reader.end() };
}

it.each([
  ['{"list":[{"a":1},{"b":[2,{}]}],"c":3}', [{ a: 1 }, { b: [2, {}] }], '{"list":[0,0],"c":3}'],
  ['{ "list" : [ [1] , {} ] }', [[1], {}], '{ "list" : [ 0 , 0 ] }'],
  ['{"list":[]}', [], '{"list":[]}'],
  ['{"list":[1,"{",null]}', [], '{"list":[1,"{",null]}'],
  ['{"a":{"list":[{}]}}', [], '{"a":{"list":[{}]}}'],
  ['{"a":"list","b":[{}]}', [], '{"a":"list","b":[{}]}'],
  [String.raw`{"a\"list":[{}]}`, [], String.raw`{"a\"list":[{}]}`],
  ['[{"list":[{}]}]', [], '[{"list":[{}]}]'],
  [String.raw`{"list":[{"a":"}\\\"]"}]}`, [{ a: String.raw`}\"]` }], '{"list":[0]}'],
])('extracts from %s the elements %j', (text, taken, left) => {
  for (const length of [1, 2, 3, 100]) expect(readIn(text, length)).toEqual({ taken, left });
});

it.each([
  ['[{"a":[1]},[2],3]', [{ a: [1] }, [2]], '[0,0,3]'],
  [' [ {} , "[" ] ', [{}], ' [ 0 , "[" ] '],
  ['[{}][{}]', [{}, {}], '[0][0]'],
  ['{"list":[{}]}', [], '{"list":[{}]}'],
  ['null', [], 'null'],
])('extracts from the top-level list %s the elements %j', (text, taken, left) => {
  for (const length of [1, 2, 100]) {
    expect(readIn(text, length, { name: undefined })).toEqual({ taken, left });
  }
});

it('extracts all objects of a list and nothing else, however the text is chunked', () => {
  const element = fc.oneof(fc.object(), fc.array(fc.json()));
  const outer = fc.record({ list: fc.array(element), more: fc.json(), list2: fc.array(fc.json()) });
  fc.assert(
    fc.property(outer, fc.nat(3), fc.integer({ min: 1, max: 20 }), (value, space, length) => {
      const { taken, left } = readIn(JSON.stringify(value, undefined, space), length);
      expect(taken).toEqual(JSON.parse(JSON.stringify(value.list)));
      const zeros = { ...value, list: value.list.map(() => 0) };
      expect(JSON.parse(left)).toEqual(JSON.parse(JSON.stringify(zeros)));
    }),
  );
});

it.each(['{"list":[{', '{"list":[{"a":"\\', '{"list":[{}', '{"list":[{}]]', '{"a', '}'])(
  'does not turn the invalid JSON %s into valid JSON',
  (text) => {
    expect(() => JSON.parse(readIn(text, 4).left) as unknown).toThrow(SyntaxError);
  },
);

it.each(['list', undefined])('refuses JSON that is nested too deeply, with name %s', (name) => {
  const text = `{"a":${'['.repeat(2000)}`;
  expect(() => readIn(text, 100, { name })).toThrow('nested too deeply');
});
