import { describe, expect, it } from 'vitest';
import { parseConfig, parseValidConfig } from './parse.ts';

const text = (members = '', version = '"3.2.0"'): string =>
  `{"ignition":{"version":${version}}${members}}`;
const refusal = (input: string | Uint8Array): unknown => {
  try {
    return parseConfig(input);
  } catch (failure) {
    return failure;
  }
};

describe('parseConfig', () => {
  it('keeps unknown members and drops nulls', () => {
    const config = parseConfig(
      Buffer.from(text(',"storage":{"files":[{"path":"/a","mode":420,"new":[null],"user":null}]}')),
    );
    expect(config).toEqual({
      ignition: { version: '3.2.0' },
      storage: { files: [{ path: '/a', mode: 420, new: [undefined] }] },
    });
    expect(JSON.stringify(config)).toContain('"new":[null]');
  });

  it('lists a bounded number of mistakes: a million took 3 GB', () => {
    const wrong = text(`,"storage":{"files":[${'1,'.repeat(9_999)}1]}`);
    expect(refusal(wrong)).toMatchObject({
      code: 'ignition.invalid',
      context: { path: 'storage.files[0]', errors: 100 },
    });
  });

  it.each(['__proto__', 'constructor'])('keeps a member named %s', (name) => {
    expect(JSON.stringify(parseConfig(text(`,"${name}":{"a":1}`)))).toContain(`"${name}":{"a":1}`);
  });

  it.each([
    ['{"a":1,}', 1, 8],
    ['{"a":"\n"}', 1, 7],
    [`${text()}\n{}`, 2, 1],
    ['{\n  "a": nul\n}', 2, 11],
    ['{"a": b}', 1, 7],
    ['not a config', 1, 2],
    [`\u{feff}${text()}`, 1, 1],
    ['['.repeat(1100), undefined, undefined],
  ])('reports line and column of invalid JSON: %j', (input, line, column) => {
    const failure = refusal(input) as { context: Record<string, unknown> };
    expect(failure).toMatchObject({ code: 'ignition.not-json', kind: 'input' });
    expect([failure.context['line'], failure.context['column']]).toEqual([line, column]);
  });

  it.each([
    '{"passwordHash": hunter2}',
    '{"passwordHash": \'hunter2\'}',
    '{"passwordHash":"hunter2',
  ])('does not quote invalid JSON: %s', (input) => {
    const failure = refusal(input) as Error;
    expect(failure).toMatchObject({ code: 'ignition.not-json' });
    expect(JSON.stringify([failure.message, failure])).not.toContain('hunter2');
    expect(failure.cause).toBeUndefined();
  });

  it.each([
    ['{"kind":"Error","id":409,"href":"","code":"409","reason":"no"}', '409', 'no'],
    ['{"code":401,"message":"no token"}', 401, 'no token'],
  ])('reports an error response of the service: %s', (input, code, reason) => {
    expect(refusal(input)).toMatchObject({
      code: 'ignition.error-body',
      kind: 'remote',
      context: { code, reason },
    });
  });

  it.each(['3.0.0', '3.5.0', '3.6.0', '3.10.0'])('accepts spec %s', (version) => {
    expect(parseConfig(text('', `"${version}"`)).ignition.version).toBe(version);
  });

  it.each([
    ['"2.2.0"', 'ignition.spec-2'],
    ['"2.4.0-experimental"', 'ignition.spec-2'],
    ['"1.0.0"', 'ignition.spec-2'],
    ['"4.0.0"', 'ignition.version-unsupported'],
    ['"3.2.1"', 'ignition.version-unsupported'],
    ['"3.5.0-experimental"', 'ignition.version-unsupported'],
    ['"3.2.0+build"', 'ignition.version-unsupported'],
    ['"3.2"', 'ignition.no-version'],
    ['""', 'ignition.no-version'],
    ['" 3.2.0"', 'ignition.no-version'],
    ['null', 'ignition.no-version'],
    ['3', 'ignition.no-version'],
  ])('refuses version %s with %s', (version, code) => {
    expect(refusal(text('', version))).toMatchObject({ code });
  });

  it.each(['[]', '"text"', '{"code":1}'])('refuses JSON that is not a config: %s', (input) => {
    expect(refusal(input)).toMatchObject({ code: 'ignition.no-version' });
  });

  it('counts all values of the wrong type', () => {
    const members =
      ',"storage":{"files":[{"path":1,"mode":"420","overwrite":0}],"links":{}},"passwd":1';
    const failure = refusal(text(members)) as { context: Record<string, unknown> };
    expect(failure).toMatchObject({ code: 'ignition.invalid', context: { rule: 'wrong-type' } });
    expect(failure.context['errors']).toBe(5);
  });
});

it('parseValidConfig refuses a config that breaks a rule', () => {
  expect(() => parseValidConfig(text(',"storage":{"files":[{"path":"a"}]}'))).toThrow(
    expect.objectContaining({
      code: 'ignition.invalid',
      kind: 'input',
      context: { rule: 'path-relative', path: 'storage.files[0].path', errors: 1 },
    }),
  );
});
